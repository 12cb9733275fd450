"""The limits that one file must keep, and those of the pool of children."""

from __future__ import annotations

import msgspec


MIB = 1 << 20


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a decode child may spend on one file, and how long a child lives."""

    # Pillow's own hard limit (0x3FFFFFFF / 4 bytes / 1.5): 178 MP decode to 0.7 GB.
    pixels: int = 178_956_970
    frames: int = 100_000
    animation_pixels: int = 100_000_000_000
    # Of an archive of pages, those within it counted in; comics of a thousand pages have a few hundred MB.
    volume_members: int = 10_000
    volume_depth: int = 3
    volume_bytes: int = 32 << 30
    # Pages are packed pictures: only plain colour in a plain format shrinks by more.
    volume_ratio: int = 200
    # Both are unpacked into memory that counts against none of the limits below. Two of them lie there at
    # most: a page and the archive around it, or an archive and one within it. So a child takes up to 256 MiB
    # beside `resident`, whatever its file holds.
    page_bytes: int = 128 * MIB
    nested_bytes: int = 128 * MIB
    cpu_s: int = 120
    memory: int = 1536 * MIB
    # Killed above this resident size: higher than RLIMIT_DATA, which fails more gently.
    resident: int = 1664 * MIB
    nice: int = 10

    items: int = 1000
    idle_s: float = 45.0
    start_s: float = 60.0
    kill_grace_s: float = 5.0
    poll_s: float = 0.25
    # A child that keeps more than this after an item is replaced while nobody waits for it.
    resting_memory: int = 320 * MIB
