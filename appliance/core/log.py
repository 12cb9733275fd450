"""Logging: ids, never secrets. Event names are short past-tense phrases."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog

from appliance.core.settings import Settings


SECRET_KEYS = re.compile(r"(password|secret|token|cookie|authorization|credential|api_?key)", re.IGNORECASE)
URL_CREDENTIALS = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*://)[^/@\s]+@", re.IGNORECASE)
BEARER = re.compile(r"(?i)(bearer\s+)\S+")


def redact(text: str) -> str:
    """The text without credentials in URLs or bearer tokens."""
    return BEARER.sub(r"\1[redacted]", URL_CREDENTIALS.sub(r"\g<scheme>[redacted]@", text))


def _redaction(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for key, value in event.items():
        if SECRET_KEYS.search(key):
            event[key] = "[redacted]"
        elif isinstance(value, str):
            event[key] = redact(value)
    return event


def configure(settings: Settings, *, process: str) -> None:
    """Set logging up for this process; `process` stands on every line."""
    level = getattr(logging, settings.log_level.upper())
    console = settings.log_format == "console" or (settings.log_format == "auto" and sys.stderr.isatty())
    renderer: Any = (
        structlog.dev.ConsoleRenderer() if console else structlog.processors.JSONRenderer(default=repr)
    )
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        _redaction,
    ]
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(process=process)
    _route_library_logs(level, shared, renderer)


def _route_library_logs(level: int, shared: list[Any], renderer: Any) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    logging.basicConfig(level=max(level, logging.WARNING), handlers=[handler], force=True)


def get() -> structlog.typing.FilteringBoundLogger:
    """The logger of the calling module."""
    logger: structlog.typing.FilteringBoundLogger = structlog.get_logger()
    return logger
