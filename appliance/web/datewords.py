"""When something was taken, and how we know."""

from __future__ import annotations

from appliance.library.queries import AssetView
from appliance.web import words


SOURCES = {
    "exif": "from the camera\N{RIGHT SINGLE QUOTATION MARK}s own record",
    "container": "from the video file",
    "sidecar": "from a file beside it",
    "name": "from the file name",
    "mtime": "when the file was last changed",
    "import": "when it came in",
    "human": "set by hand",
}


def taken(asset: AssetView) -> tuple[str, str]:
    """The date of an asset and where it comes from."""
    source = SOURCES[asset.date_source]
    if asset.taken_at is None or asset.date_source == "human":
        return words.wall(asset.effective_at), source
    return words.wall(asset.taken_at), f"{source}, {words.offset(asset.taken_offset)}"
