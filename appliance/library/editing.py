"""What a person may say about one asset, read and tidied; and how its pictures follow when it is turned."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from appliance.core.db import UnitOfWork
from appliance.core.errors import Invalid
from appliance.library.facts import PreviewWanted
from appliance.library.renditions import NEIGHBOUR, URGENT


LONGEST_TITLE = 200
LONGEST_NOTE = 10_000
ANGLES = ("90", "180", "270")


def title_of(text: str) -> str | None:
    """A title as it is stored, in one line; nothing means none."""
    title = " ".join(_storable(text).split()) or None
    if title is not None and len(title) > LONGEST_TITLE:
        raise Invalid(f"A title has at most {LONGEST_TITLE} characters", f"This one has {len(title)}.")
    return title


def note_of(text: str) -> str | None:
    """A note as it is stored, lines kept; nothing means none."""
    lines = _storable(text).replace("\r\n", "\n").replace("\r", "\n")
    note = "\n".join(line.rstrip() for line in lines.split("\n")).strip() or None
    if note is not None and len(note) > LONGEST_NOTE:
        raise Invalid(f"A note has at most {LONGEST_NOTE:,} characters", f"This one has {len(note):,}.")
    return note


def angle_of(text: str) -> int:
    """By how much to turn clockwise: a quarter, a half or three."""
    if text not in ANGLES:
        raise Invalid("A picture turns by 90, 180 or 270 degrees")
    return int(text)


def _storable(text: str) -> str:
    # Pasted text may hold what no column can, a NUL or half of a surrogate pair; and bells and escapes,
    # which nobody sees until a terminal obeys them.
    shown = "".join(c for c in text if c in "\n\r\t" or unicodedata.category(c) != "Cc")
    return shown.encode("utf-8", "ignore").decode()


# A picture that is being drawn meanwhile is the old way up: without its claim it cannot be finished.
_REDRAW = """
UPDATE rendition SET status = 'pending', version = version + 1, queued_at = now(), deliveries = 0,
    interruptions = 0, claim = NULL, worker_id = NULL, claimed_at = NULL, started_at = NULL,
    finished_at = NULL, reason = NULL, detail = NULL,
    priority = CASE WHEN name = 'preview' THEN $2::smallint ELSE $3::smallint END
WHERE asset_id = ANY($1::bigint[])
"""
_CONVERT_ANEW = """
UPDATE conversion SET status = 'pending', claim = NULL, worker_id = NULL, claimed_at = NULL, started_at = NULL
WHERE asset_id = ANY($1::bigint[]) AND status = 'processing'
"""


async def redraw(uow: UnitOfWork, ids: Sequence[int]) -> None:
    """Draw the pictures of turned assets again, what is on the screen first, each a version of its own."""
    await uow.sql.execute(_REDRAW, ids, URGENT, NEIGHBOUR)
    await uow.sql.execute(_CONVERT_ANEW, ids)
    uow.record(PreviewWanted())
