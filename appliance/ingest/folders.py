"""Which folders can be roots: the rules that hold for a path before any database is asked."""

from __future__ import annotations

import os
import stat

from appliance.core import names
from appliance.ingest.errors import NotAFolder


def folder(path: str | os.PathLike[str]) -> bytes:
    """The absolute, link-free form of a folder that exists; anything else is refused by name."""
    shown = names.display(names.of(path))
    try:
        real = os.path.realpath(os.fsencode(path), strict=True)
        found = os.stat(real)
    except FileNotFoundError:
        raise NotAFolder(
            f"There is no folder {shown}", "Check the spelling and whether it is mounted."
        ) from None
    except (OSError, ValueError) as error:
        cause = (getattr(error, "strerror", None) or str(error)).capitalize()
        raise NotAFolder(f"The folder {shown} cannot be read", f"{cause}.") from None
    if not stat.S_ISDIR(found.st_mode):
        raise NotAFolder(f"{shown} is not a folder", "Name the folder that holds it.")
    if _is_data_of_ours(real):
        raise NotAFolder(f"{shown} holds the data of a Vitrine", "Name a folder with pictures of your own.")
    if real == b"/":
        raise NotAFolder(
            "The whole file system cannot be a library", "Name the folders that hold your pictures."
        )
    return real


def _is_data_of_ours(path: bytes) -> bool:
    """Inside a data directory lie pictures of pictures: a scan would make more of them each time."""
    while len(path) > 1:
        if os.path.isfile(path + b"/instance.json") and os.path.isdir(path + b"/renditions"):
            return True
        path = os.path.dirname(path)
    return False
