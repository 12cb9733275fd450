"""Volumes and ugoira: an archive described by its pages, and seen by the first that shows something."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from appliance.media import archives, comicinfo, ugoira
from appliance.media.archives import COMIC, UGOIRA, Listing
from appliance.media.limits import Limits
from appliance.media.reading import Source, unpacked_source
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.ugoira import Timed
from appliance.media.wire import Decoded, Page


Draw = Callable[[Source], Decoded]
# A page that cannot be read costs itself; so many in a row, and the archive has no cover.
_COVERS = 8
# Fade-ins are short.
_COVER_FRAMES = 60


def decode(source: Source, limits: Limits, draw: Draw) -> Decoded:
    """Describe an archive; `draw` decodes one of its pages and draws what is wanted from it."""
    found = archives.listing(source, limits)
    timed = ugoira.frames(found.plan, found.pages, limits.frames)
    if timed:
        return _animation(source, found, timed, draw)
    return _volume(source, found, draw)


def _volume(source: Source, found: Listing, draw: Draw) -> Decoded:
    comic = comicinfo.read(found.comic)
    cover = _cover(source, [page for page in found.pages if page.mime][:_COVERS], draw)
    facts = comic.facts | ({"right_to_left": True} if comic.right_to_left else {})
    return msgspec.structs.replace(
        cover,
        kind="volume",
        mime=COMIC,
        frames=len(found.pages),
        taken_at=None,
        taken_offset=None,
        date_source=None,
        flags=[],
        facts=facts,
        notes=[*found.notes, *comic.notes],
        title=comic.title,
        rating=None,
        tags=comic.tags,
        pages=found.pages,
        # Its cover may be that of another one, or a picture of its own: that makes no copy of it.
        fingerprint=None,
    )


def _cover(source: Source, pages: Sequence[Page], draw: Draw) -> Decoded:
    failure = MediaFailure(Reason.CORRUPT, "none of its pages can be read")
    for page in pages:
        try:
            return drawn(source, page, draw)
        except MediaFailure as error:
            failure = error
    raise failure


def drawn(source: Source, page: Page, draw: Draw) -> Decoded:
    """Decode one page of an archive that is open."""
    member = unpacked_source(source, page.hops)
    try:
        return draw(member)
    finally:
        member.close()


def _animation(source: Source, found: Listing, timed: list[Timed], draw: Draw) -> Decoded:
    first = cover = drawn(source, timed[0].page, draw)
    for each in timed[1:_COVER_FRAMES]:
        # What shows too little to be told from others is no cover.
        if cover.fingerprint is not None:
            break
        cover = drawn(source, each.page, draw)
    if cover.fingerprint is None and cover is not first:
        cover = drawn(source, timed[0].page, draw)
    return msgspec.structs.replace(
        cover,
        kind="animation",
        mime=UGOIRA,
        width=first.width,
        height=first.height,
        frames=len(timed),
        duration_s=sum(each.delay_ms for each in timed) / 1000,
        notes=found.notes,
    )
