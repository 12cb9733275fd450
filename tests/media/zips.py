"""Archives made on the spot, sound and hostile."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

from tests.media_files import jpeg


def zipped(members: Mapping[str, bytes], *, packed: bool = False) -> bytes:
    """An archive of these members in this order."""
    out = io.BytesIO()
    method = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), content, method)
    return out.getvalue()


def comic(pages: int, *, seed: int = 0, packed: bool = False, **more: bytes) -> bytes:
    """A volume of so many different pages; `more` are further members, a double underscore is a dot."""
    named = {f"{number + 1}.jpg": jpeg(seed * 1000 + number) for number in range(pages)}
    return zipped(named | {name.replace("__", "."): body for name, body in more.items()}, packed=packed)
