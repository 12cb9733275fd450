"""Settings: one prefix, strict values, secrets also from files, unknown names refused."""

from __future__ import annotations

import difflib
import ipaddress
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from appliance.core.errors import SettingsError
from appliance.core.paths import Home, default_data


PREFIX = "VITRINE_"
SECRETS = frozenset({"database_url", "redis_url"})
# Read by the bootstrap script, the tests and tools before settings exist.
OTHERS = re.compile(r"VITRINE_(PYTHON|CRASH_AT|TEST_\w+)")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that can be set; each field is `VITRINE_<NAME>` in the environment."""

    data: Path = Path()
    """Data directory."""
    host: str = ""
    """Address to listen on; empty means all interfaces."""
    port: int = 8420
    """Port of the web pages."""
    database_url: str = ""
    """External PostgreSQL; empty means the embedded one."""
    redis_url: str = ""
    """External Redis or Valkey; empty means the embedded one."""
    tz: str = ""
    """Time zone of schedules and "today"; empty means the machine's."""
    hosts: tuple[str, ...] = ()
    """Further host names under which the pages may be reached."""
    proxy: tuple[str, ...] = ()
    """Addresses or networks of reverse proxies whose X-Forwarded-For and X-Forwarded-Proto are believed."""
    log_level: str = "info"
    """debug, info, warning or error."""
    log_format: str = "auto"
    """console, json, or auto: console in a terminal, else json."""
    heartbeat: float = 30.0
    """Seconds between a worker's signs of life."""
    silence: float = 180.0
    """Seconds after which a silent worker counts as dead."""
    disk_floor_mb: int = 1024
    """Imports pause below this much free disk."""
    upload_max_gb: float = 20.0
    """The largest file that may be sent through the pages."""
    verify_minutes: float = 60.0
    """How long originals are read, hashed and decoded again each night; 0 switches that off."""
    pg_bin: str = ""
    """Directory of PostgreSQL's programs; empty means the bundled ones."""
    valkey_bin: str = ""
    """Valkey or Redis server program; empty means the bundled one."""
    decode_children: int = 0
    """Parallel decoders; 0 means one per core, at least two."""
    pause: tuple[str, ...] = ()
    """Lanes that start paused."""

    @property
    def home(self) -> Home:
        """The places inside the data directory."""
        return Home(self.data)

    @property
    def decoders(self) -> int:
        """How many decode children may run at once."""
        return self.decode_children or max(2, os.cpu_count() or 2)

    @property
    def zone(self) -> ZoneInfo:
        """The zone that cron texts and day limits mean."""
        return ZoneInfo(self.tz or machine_zone())

    def with_(self, **changes: Any) -> Settings:
        """The same settings with some fields replaced."""
        return msgspec.structs.replace(self, **changes)


def machine_zone() -> str:
    """The IANA name of the machine's zone, UTC when it has none."""
    named = os.environ.get("TZ", "").lstrip(":")
    if _is_zone(named):
        return named
    target = os.path.realpath("/etc/localtime")
    name = target.partition("/zoneinfo/")[2]
    return name if _is_zone(name) else "UTC"


def _is_zone(name: str) -> bool:
    # Not by listing all zones, which reads hundreds of files: every imported file asks.
    try:
        ZoneInfo(name)
    except (ValueError, KeyError, OSError):
        return False
    return True


def load(environ: Mapping[str, str], **overrides: Any) -> Settings:
    """Read the environment; arguments of the command line win."""
    values = _from_environment(environ) | {k: v for k, v in overrides.items() if v is not None}
    values["data"] = Path(values.get("data") or default_data()).absolute()
    try:
        settings = msgspec.convert(values, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise _unfit(error) from None
    _check(settings)
    return settings


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    known = {f"{PREFIX}{f.upper()}": f for f in Settings.__struct_fields__}
    values: dict[str, Any] = {}
    for name, text in environ.items():
        if not name.startswith(PREFIX) or OTHERS.fullmatch(name):
            continue
        field = known.get(name) or known.get(name.removesuffix("_FILE"))
        if field is None or (name not in known and field not in SECRETS):
            raise _unknown(name, known)
        if name in known:
            values[field] = _split(field, text)
        else:
            values[field] = _secret(name, text)
    return values


def _split(field: str, text: str) -> Any:
    if field in {"hosts", "pause", "proxy"}:
        return tuple(p.strip() for p in text.split(",") if p.strip())
    return text


def _secret(name: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise SettingsError(f"{name} names a file that cannot be read", f"{path}: {error.strerror}") from None


def _unknown(name: str, known: Mapping[str, str]) -> SettingsError:
    near = difflib.get_close_matches(name, list(known), n=1)
    hint = f"Did you mean {near[0]}?" if near else "See the list of settings in docs/settings.md."
    return SettingsError(f"{name} is not a setting", hint)


def _unfit(error: msgspec.ValidationError) -> SettingsError:
    problem, _, field = str(error).partition(" - at `$.")
    name = f"{PREFIX}{field.rstrip('`').partition('[')[0].upper()}" if field else "A setting"
    return SettingsError(f"{name} cannot be used", f"{problem}.")


def _check(s: Settings) -> None:
    _check_servers(s)
    _check_proxy(s)
    for name in ("decode_children", "disk_floor_mb", "verify_minutes"):
        if getattr(s, name) < 0:
            raise SettingsError(f"{PREFIX}{name.upper()} cannot be negative", "0 or more.")
    if s.upload_max_gb <= 0:
        raise SettingsError(f"{PREFIX}UPLOAD_MAX_GB must be above 0", "For example 20.")
    if not 0 < s.port < 65536:
        raise SettingsError(f"Port {s.port} does not exist", "VITRINE_PORT or --port: 1 to 65535.")
    if s.tz and not _is_zone(s.tz):
        raise SettingsError(f"VITRINE_TZ={s.tz} is not a time zone", "Use a name like Europe/Berlin.")
    if s.log_level not in {"debug", "info", "warning", "error"}:
        raise SettingsError(
            f"VITRINE_LOG_LEVEL={s.log_level} is not a level", "debug, info, warning or error."
        )
    if s.log_format not in {"auto", "console", "json"}:
        raise SettingsError(f"VITRINE_LOG_FORMAT={s.log_format} is not a format", "auto, console or json.")
    if s.heartbeat <= 0 or s.silence < 3 * s.heartbeat:
        raise SettingsError(
            "VITRINE_SILENCE must be at least three times VITRINE_HEARTBEAT",
            "A worker that missed one beat would count as dead.",
        )


def _check_proxy(s: Settings) -> None:
    for text in s.proxy:
        try:
            ipaddress.ip_network(text, strict=False)
        except ValueError:
            raise SettingsError(
                f"VITRINE_PROXY={text} is not an address",
                "Use 127.0.0.1, ::1 or a network like 172.18.0.0/16.",
            ) from None


def _check_servers(s: Settings) -> None:
    if s.database_url and not s.database_url.startswith(("postgresql://", "postgres://", "postgresql+")):
        raise SettingsError("VITRINE_DATABASE_URL is not a PostgreSQL URL", "postgresql://user@host/name")
    if s.redis_url and not s.redis_url.startswith(("redis://", "rediss://", "unix://")):
        raise SettingsError("VITRINE_REDIS_URL is not a Redis URL", "redis://host:6379/0")


_current: Settings | None = None


def use(settings: Settings) -> None:
    """Make these the settings of the process."""
    global _current  # noqa: PLW0603 - one set of settings per process is the point
    _current = settings


def current() -> Settings:
    """The settings of the process."""
    if _current is None:
        raise SettingsError("No settings are in use yet")
    return _current
