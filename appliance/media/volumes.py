"""Volumes and ugoira: an archive described by its pages, and seen by the first that shows something."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec
from PIL import Image

from appliance.media import archives, comicinfo, opening, pictures, ugoira
from appliance.media.archives import COMIC, UGOIRA, Listing
from appliance.media.limits import Limits
from appliance.media.reading import Source, unpacked_source
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.ugoira import Timed
from appliance.media.wire import FULL, Decoded, Fit, Made, Page, Wanted


Draw = Callable[[Source, list[Wanted]], Decoded]
Drawn = Callable[[Source], Decoded]
# A page that cannot be read costs itself; so many in a row, and the archive has no cover.
_COVERS = 8
# Fade-ins are short.
_COVER_FRAMES = 60
# 19 ms for a million of them, and somebody waits: larger animations are drawn smaller.
_FULL_PIXELS = 2_000_000_000


def decode(source: Source, wanted: list[Wanted], limits: Limits, draw: Draw, *, turn: int = 0) -> Decoded:
    """Describe an archive; `draw` decodes one of its pages and draws what is wanted from it."""
    found = archives.listing(source, limits)
    timed = ugoira.frames(found.plan, found.pages, limits.frames)
    if not timed:
        return _volume(source, found, lambda member: draw(member, wanted))
    plain = [each for each in wanted if each.name != FULL]
    described = _animation(source, found, timed, lambda member: draw(member, plain))
    for each in wanted:
        if each.name == FULL:
            described.renditions.append(_moving(source, timed, described, each, limits, turn))
    return described


def _volume(source: Source, found: Listing, draw: Drawn) -> Decoded:
    comic = comicinfo.read(found.comic)
    cover = _cover(source, [page for page in found.pages if page.mime][:_COVERS], draw)
    return msgspec.structs.replace(
        cover,
        kind="volume",
        mime=COMIC,
        frames=len(found.pages),
        taken_at=None,
        taken_offset=None,
        date_source=None,
        flags=[],
        facts=comic.facts,
        notes=[*found.notes, *comic.notes],
        title=comic.title,
        rating=None,
        tags=comic.tags,
        pages=found.pages,
        # Its cover may be that of another one, or a picture of its own: that makes no copy of it.
        fingerprint=None,
    )


def _cover(source: Source, pages: Sequence[Page], draw: Drawn) -> Decoded:
    failure = MediaFailure(Reason.CORRUPT, "none of its pages can be read")
    for page in pages:
        try:
            return drawn(source, page, draw)
        except MediaFailure as error:
            failure = error
    raise failure


def drawn(source: Source, page: Page, draw: Drawn) -> Decoded:
    """Decode one page of an archive that is open."""
    member = unpacked_source(source, page.hops)
    try:
        return draw(member)
    finally:
        member.close()


def _animation(source: Source, found: Listing, timed: list[Timed], draw: Drawn) -> Decoded:
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
        notes=list(found.notes),
    )


def _moving(
    source: Source, timed: list[Timed], described: Decoded, wanted: Wanted, limits: Limits, turn: int
) -> Made:
    """The animation in a form that browsers show, every frame decoded when it is its turn."""
    shown = (described.width, described.height)
    scale = (_FULL_PIXELS / (len(timed) * shown[0] * shown[1])) ** 0.5
    size = pictures.fitted(shown, Fit(max(1, int(shown[0] * scale)), max(1, int(shown[1] * scale))))
    orientation = pictures.turned(1, turn)

    def frames() -> Iterator[Image.Image]:
        for each in timed:
            member = unpacked_source(source, each.page.hops)
            try:
                with opening.open_picture(member, limits) as image:
                    image.load()
                    yield pictures.reduced(image, size, orientation).convert("RGB")
            finally:
                member.close()

    data = ugoira.animated(frames(), [each.delay_ms for each in timed], size)
    return pictures.written(data, "image/webp", size, wanted)
