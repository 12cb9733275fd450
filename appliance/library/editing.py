"""What a person changes about one asset: its words, its date, which way is up."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from appliance.core.db import UnitOfWork
from appliance.core.errors import Conflict, Invalid, NotFound
from appliance.library.facts import PreviewWanted
from appliance.library.renditions import NEIGHBOUR, URGENT


if TYPE_CHECKING:
    from asyncpg import Connection


LONGEST_TITLE = 200
LONGEST_NOTE = 10_000
TURNS = (90, 180, 270)


async def set_title(uow: UnitOfWork, asset_id: int, text: str) -> str | None:
    """Call an asset something; nothing takes the title away. The answer is what was stored."""
    title = " ".join(_storable(text).split()) or None
    if title is not None and len(title) > LONGEST_TITLE:
        raise Invalid(f"A title has at most {LONGEST_TITLE} characters", f"This one has {len(title)}.")
    await _write(uow.sql, "title", asset_id, title)
    return title


async def set_note(uow: UnitOfWork, asset_id: int, text: str) -> str | None:
    """Write lines about an asset; nothing takes the note away. The answer is what was stored."""
    lines = _storable(text).replace("\r\n", "\n").replace("\r", "\n")
    note = "\n".join(line.rstrip() for line in lines.split("\n")).strip() or None
    if note is not None and len(note) > LONGEST_NOTE:
        raise Invalid(f"A note has at most {LONGEST_NOTE:,} characters", f"This one has {len(note):,}.")
    await _write(uow.sql, "note", asset_id, note)
    return note


def _storable(text: str) -> str:
    # Pasted text may hold what no column can: a NUL, or half of a surrogate pair.
    return text.replace("\0", "").encode("utf-8", "ignore").decode()


async def _write(sql: Connection[Any], column: str, asset_id: int, text: str | None) -> None:
    # One column for each statement: of two people at once, each keeps the fields that the other left alone.
    done = await sql.execute(f"UPDATE asset SET {column} = $2 WHERE id = $1", asset_id, text)
    if done != "UPDATE 1":
        raise NotFound("There is no such picture", "It may have been deleted for good.")


async def use_own_date(uow: UnitOfWork, asset_id: int) -> datetime:
    """Go back to what the file says about its date; the answer is the date that stood there."""
    row = await uow.sql.fetchrow(
        "UPDATE asset a SET taken_at = (a.own_date->>'taken_at')::timestamp,"
        " effective_at = (a.own_date->>'effective_at')::timestamp, date_source = a.own_date->>'source'"
        " FROM (SELECT id, effective_at FROM asset WHERE id = $1 FOR UPDATE) was"
        " WHERE a.id = was.id AND a.own_date IS NOT NULL RETURNING was.effective_at",
        asset_id,
    )
    if row is None:
        raise Conflict("This picture has the date of its file already")
    stood: datetime = row["effective_at"]
    return stood


_TURN = """
UPDATE asset SET turn = (turn + $2) % 360,
    width = CASE WHEN $2 = 180 THEN width ELSE height END,
    height = CASE WHEN $2 = 180 THEN height ELSE width END
WHERE id = $1 RETURNING turn
"""
# A picture that is being drawn meanwhile is the old way up: without its claim it cannot be finished.
_REDRAW = """
UPDATE rendition SET status = 'pending', version = version + 1, queued_at = now(), deliveries = 0,
    interruptions = 0, claim = NULL, worker_id = NULL, claimed_at = NULL, started_at = NULL,
    finished_at = NULL, reason = NULL, detail = NULL,
    priority = CASE WHEN name = 'preview' THEN $2::smallint ELSE $3::smallint END
WHERE asset_id = $1
"""
_CONVERT_ANEW = """
UPDATE conversion SET status = 'pending', claim = NULL, worker_id = NULL, claimed_at = NULL, started_at = NULL
WHERE asset_id = $1 AND status = 'processing'
"""


async def turn(uow: UnitOfWork, asset_id: int, by: int) -> int:
    """Turn an asset clockwise by a quarter, a half or three; the file stays as it is.

    Its pictures are drawn again, those on the screen first, under new versions that no cache knows.
    The answer is how far it is turned now.
    """
    if by not in TURNS:
        raise Invalid("A picture turns by 90, 180 or 270 degrees")
    turned: int | None = await uow.sql.fetchval(_TURN, asset_id, by)
    if turned is None:
        raise NotFound("There is no such picture", "It may have been deleted for good.")
    await uow.sql.execute(_REDRAW, asset_id, URGENT, NEIGHBOUR)
    await uow.sql.execute(_CONVERT_ANEW, asset_id)
    uow.record(PreviewWanted())
    return turned
