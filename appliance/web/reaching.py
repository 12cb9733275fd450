"""Whether the file of a picture can be reached, told within seconds: nobody waits for a disk that is away."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from appliance.core import db, names, settings
from appliance.core.errors import Unavailable, VitrineError
from appliance.ingest import away
from appliance.ingest.identity import OTHER
from appliance.library import files, queries, shown
from appliance.library.files import Original
from appliance.library.volumes import PageView, VolumeView
from appliance.media.wire import FULL
from appliance.web import words
from appliance.web.sending import Gone, on_storage, open_recorded


if TYPE_CHECKING:
    from asyncpg import Connection


REACH_SECONDS = 4.0
"""As long as storage may take to open a file before its folder is asked after."""


class FolderAway(Unavailable):
    """The folder in which a file lies cannot be read at the moment."""

    def __init__(self, root: tuple[int, bytes], cause: str) -> None:
        self.root_id = root[0]
        why = f"{cause[:1].upper()}{cause[1:]}. " if cause else ""
        way = (
            "Connect the right disk and scan the folder again."
            if OTHER in cause
            else "Connect its disk or network share: within 15 minutes, or by a scan, it is found again."
        )
        super().__init__(f"The folder {names.display(root[1])} cannot be read", why + way)


class Trouble(NamedTuple):
    """Why a page is not shown, and the way out."""

    title: str
    hint: str
    folder: int | None = None
    """The root that is to be looked at."""
    again: bool = False
    """Whether it comes by itself."""

    @classmethod
    def of(cls, error: VitrineError) -> Trouble:
        """What a refusal says."""
        return cls(error.title, error.hint, error.root_id if isinstance(error, FolderAway) else None)


def check_known(original: Original) -> None:
    """Refuse what lies in a folder that is known to be away; asks no disk."""
    if original.root is not None and original.away is not None:
        raise FolderAway(original.root, original.away)


async def check(original: Original) -> None:
    """Refuse what cannot be opened: at once where the folder is known to be away, else within seconds."""
    check_known(original)
    try:
        await on_storage(lambda: os.close(open_recorded(original)), seconds=REACH_SECONDS)
    except (Gone, Unavailable):
        cause = await away.cause(*original.root) if original.root else None
        if original.root is not None and cause is not None:
            raise FolderAway(original.root, cause) from None
        raise


async def check_asset(asset_id: int) -> None:
    """Refuse an asset whose best file cannot be opened."""
    async with db.unit_of_work() as uow:
        original = await files.original(uow.sql, settings.current().home, asset_id)
    await check(original)


async def known_troubles(
    sql: Connection[Any], volume: VolumeView, pages: Sequence[PageView]
) -> dict[int, Trouble]:
    """Pages that cannot be made since their folder is known to be away."""
    found = {}
    for page in pages:
        if page.status == "pending" and not shown.picture(page.mime, page.turn):
            try:
                home = settings.current().home
                check_known(await files.of_page(sql, home, volume.asset_id, page.position))
            except VitrineError as error:
                found[page.position] = Trouble.of(error)
    return found


async def trouble(volume: VolumeView, page: PageView, *, tried: bool) -> Trouble | None:
    """Why a page did not come; None where it may come when it is asked for once more."""
    try:
        async with db.unit_of_work() as uow:
            original = await files.of_page(uow.sql, settings.current().home, volume.asset_id, page.position)
        await check(original)
    except VitrineError as error:
        return Trouble.of(error)
    if not shown.picture(page.mime, page.turn):
        if page.asset_id is None and volume.status == "failed":
            return Trouble(words.why(volume.reason), volume.detail or "")
        if page.asset_id is None or tried:
            return await _making(page)
    return Trouble("This page did not come", "Nothing is wrong with its file.") if tried else None


async def _making(page: PageView) -> Trouble:
    if page.asset_id is not None:
        async with db.unit_of_work() as uow:
            full = await queries.rendition_status(uow.sql, page.asset_id, FULL)
        if full is not None and full.status == "failed":
            return Trouble(words.why(full.reason), full.detail or "")
    return Trouble("This page is being made", "It comes by itself in a moment.", again=True)
