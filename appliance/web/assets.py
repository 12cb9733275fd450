"""Static files: read once, addressed by their content, compressed once, served from memory."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from appliance.core.paths import STATIC


PREFIX = "/static/"
SHELL_CSS = ("tokens.css", "base.css", "search.css", "plain.css", "sheet.css")
SHELL_JS = ("vendor/htmx.min.js", "shell.js", "keys.js", "sheet.js", "search.js")
# One style sheet and one script for each screen: the first page costs two requests, not ten.
BUNDLES: Mapping[str, tuple[str, ...]] = {
    "gallery.page.css": (*SHELL_CSS, "dominant.css", "gallery.css", "selection.css", "upload.css"),
    "gallery.page.js": (
        *SHELL_JS,
        "wall.js",
        "gallery.js",
        "operations.js",
        "selection.js",
        "picking.js",
        "sending.js",
        "opener.js",
    ),
    # Fetched when the first picture is opened over the gallery.
    "viewer.page.css": ("vendor/photoswipe.css", "asset.css", "minis.css", "editing.css", "viewer.css"),
    "viewer.page.js": ("combo.js", "tags.js", "editing.js", "film.js", "motion.js", "viewer.js"),
    "folders.page.css": (*SHELL_CSS, "folders.css"),
    "folders.page.js": SHELL_JS,
    "asset.page.css": (*SHELL_CSS, "asset.css", "minis.css", "editing.css"),
    "asset.page.js": (
        *SHELL_JS,
        "operations.js",
        "film.js",
        "motion.js",
        "asset.js",
        "combo.js",
        "tags.js",
        "editing.js",
    ),
    "pages.page.css": (*SHELL_CSS, "minis.css"),
    "pages.page.js": SHELL_JS,
    "reader.page.css": (*SHELL_CSS, "reader.css"),
    "reader.page.js": (*SHELL_JS, "reader.js"),
    "tags.page.css": (*SHELL_CSS, "editing.css", "tags.css"),
    "tags.page.js": (*SHELL_JS, "combo.js", "tags.js"),
    "uploads.page.css": (*SHELL_CSS, "batch.css", "upload.css"),
    "uploads.page.js": (*SHELL_JS, "sending.js"),
    "history.page.css": (*SHELL_CSS, "selection.css", "history.css"),
    "history.page.js": (*SHELL_JS, "operations.js"),
    "duplicates.page.css": (*SHELL_CSS, "selection.css", "duplicates.css"),
    "duplicates.page.js": (*SHELL_JS, "operations.js", "duplicates.js"),
    "activity.page.css": (*SHELL_CSS, "batch.css", "activity.css"),
    "activity.page.js": SHELL_JS,
    "import.page.css": (*SHELL_CSS, "batch.css", "import.css", "upload.css"),
    "import.page.js": (*SHELL_JS, "import.js", "sending.js"),
    "entry.page.css": (*SHELL_CSS, "entry.css"),
    "entry.page.js": ("shell.js",),
    "settings.page.css": (*SHELL_CSS, "settings.css"),
    "settings.page.js": (*SHELL_JS, "settings.js", "sending.js"),
    "plain.page.css": SHELL_CSS,
    "plain.page.js": SHELL_JS,
}
REFERENCE = re.compile(rb'url\("(?!data:)([^"]+)"\)')
COMMENT = re.compile(rb"/\*.*?\*/", re.DOTALL)
PACKED = frozenset({".css", ".js", ".svg", ".txt"})
TYPES = {".woff2": "font/woff2", ".js": "text/javascript", ".css": "text/css"}


def lean(name: str, body: bytes) -> bytes:
    """A bundle without its comments and indentation: a tenth of what a first visit has to fetch."""
    if name.endswith(".css"):
        body = COMMENT.sub(b"", body)
    # Lines stay lines, so that a script means what it meant; only whole lines of comment go.
    lines = (line.strip() for line in body.split(b"\n"))
    return b"\n".join(line for line in lines if line and not line.startswith(b"//"))


@dataclass(frozen=True, slots=True)
class Asset:
    """One static file as it is sent."""

    url: str
    mime: str
    body: bytes
    packed: bytes | None


class Assets:
    """All static files by name and by address."""

    def __init__(self, folder: Path) -> None:
        self._by_name: dict[str, Asset] = {}
        self._by_url: dict[str, Asset] = {}
        sources = {
            p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()
        }
        # Style sheets name other files by address, so those must have theirs first.
        for name in sorted(sources, key=lambda n: n.endswith(".css")):
            self._add(name, self._addressed(name, sources[name]))
        for name, parts in BUNDLES.items():
            self._add(
                name, lean(name, b"\n".join(self._by_name[p].body for p in parts if p in self._by_name))
            )

    def _add(self, name: str, body: bytes) -> None:
        stem, _, suffix = name.rpartition(".")
        digest = hashlib.sha256(body).hexdigest()[:12]
        url = f"{PREFIX}{stem}.{digest}.{suffix}"
        mime = TYPES.get(f".{suffix}") or mimetypes.guess_type(name)[0] or "application/octet-stream"
        packed = gzip.compress(body, 9, mtime=0) if f".{suffix}" in PACKED else None
        self._by_name[name] = self._by_url[url] = Asset(url, mime, body, packed)

    def _addressed(self, name: str, body: bytes) -> bytes:
        if not name.endswith(".css"):
            return body
        return REFERENCE.sub(lambda m: b'url("' + self.url(m[1].decode()).encode() + b'")', body)

    def url(self, name: str) -> str:
        """The address of a file; it changes with the content and may be kept for ever."""
        return self._by_name[name].url

    def at(self, url: str) -> Asset | None:
        """The file behind an address."""
        return self._by_url.get(url)

    def named(self, name: str) -> Asset:
        """A file by its plain name."""
        return self._by_name[name]


@cache
def assets() -> Assets:
    """The static files of this process; read at the first call and never again."""
    return Assets(STATIC)
