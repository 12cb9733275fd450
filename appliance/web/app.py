"""The web application, and the process that serves it."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import pkgutil
import signal
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import uvicorn
import uvloop
from litestar import Litestar
from litestar.config.compression import CompressionConfig

from appliance import web
from appliance.core import db, log
from appliance.core import settings as settings_module
from appliance.core.settings import Settings
from appliance.web import errors, pages
from appliance.web.guards import signed_in
from appliance.web.security import Gate
from queues.declare import load
from queues.doorbell import connected


FORM_BYTES = 1_000_000
POOL = 8
STOP_SECONDS = 3


def handlers() -> list[Any]:
    """The route handlers of every screen's module: a new screen registers itself by being there."""
    found: list[Any] = []
    for module in pkgutil.walk_packages(web.__path__, f"{web.__name__}."):
        if module.name != __name__:
            found += getattr(importlib.import_module(module.name), "HANDLERS", ())
    return found


def preload() -> None:
    """Read screens, templates and static files before the fork, and before rights are given up."""
    handlers()
    pages.environment()


def create_app(settings: Settings) -> Litestar:
    """The application; the process's database and doorbell are connected by its lifespan."""
    preload()
    settings_module.use(settings)

    @contextlib.asynccontextmanager
    async def connections(_app: Litestar) -> AsyncIterator[None]:
        async with _database(settings), connected(settings):
            yield

    app = bare_app(settings)
    app._lifespan_managers.append(connections)  # noqa: SLF001 - so that tests share the rest
    return app


def bare_app(settings: Settings) -> Litestar:
    """All routes, without connections of their own."""
    app = Litestar(
        route_handlers=handlers(),
        guards=[signed_in],
        exception_handlers=errors.EXCEPTIONS,
        compression_config=CompressionConfig(
            backend="gzip", gzip_compress_level=5, minimum_size=600, exclude=["^/media/", "^/static/"]
        ),
        request_max_body_size=FORM_BYTES,
        openapi_config=None,
        logging_config=None,
    )
    # Around everything: the router answers unknown paths before any middleware would see them.
    app.asgi_handler = Gate(app.asgi_handler, settings)
    return app


@contextlib.asynccontextmanager
async def _database(settings: Settings) -> AsyncIterator[None]:
    database = db.open_database(settings.database_url, pool=POOL, application="vitrine web")
    db.use(database)
    try:
        yield
    finally:
        db.use(None)
        await database.close()


class _Server(uvicorn.Server):
    """Ends on a signal with status 0 instead of raising the signal again."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Let the loop hand signals over."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        yield


def serve(settings: Settings, sockets: Sequence[socket.socket]) -> None:
    """Serve on sockets that are bound already, until the process is told to stop."""
    log.configure(settings, process="web")
    load()
    config = uvicorn.Config(
        create_app(settings),
        http="httptools",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=STOP_SECONDS,
        timeout_keep_alive=30,
    )
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_Server(config).serve(sockets=list(sockets)))
