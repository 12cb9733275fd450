"""An archive within an archive, kept unpacked while its pages are asked for one after the other.

What is packed can only be read from its start: without this, each page would cost unpacking all before it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from appliance.media.hops import Broken, Hop
from appliance.media.reading import Source, unpacked, unpacked_source


class Nested:
    """The inner archive that was unpacked last."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._key: tuple[object, ...] | None = None
        self._descriptor = -1

    def page(self, archive: Source, way: Sequence[Hop]) -> Source:
        """Take a page of an open archive into the hand, from the inner one where it lies in such a one."""
        outer = tuple(way[:-1])
        seen = archive.seen
        key = (seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, outer)
        if key != self._key:
            self.drop()
            if not outer or outer[-1].size > self._most or not self._unpack(archive, outer):
                return unpacked_source(archive, way)
            self._key = key
        return unpacked_source(archive, way[-1:], self._descriptor)

    def _unpack(self, archive: Source, outer: Sequence[Hop]) -> bool:
        try:
            self._descriptor = unpacked(archive.descriptor, outer)
        except Broken:
            # The page that is asked for may lie before the damage.
            return False
        return True

    def drop(self) -> None:
        """Let go of it."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._key, self._descriptor = None, -1
