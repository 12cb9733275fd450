"""A walk in hand: what it is for, and the ways in which it can come to nothing."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from appliance.core import names
from appliance.core.errors import VitrineError
from appliance.ingest.models import Mode


if TYPE_CHECKING:
    from asyncpg import Connection


BEYOND = b"\xff" * 300
"""Above every path: a part of a path has at most 255 bytes."""


class RootUnavailable(VitrineError):
    """The root cannot be read: nothing under it was judged, nothing was changed."""

    def __init__(self, root: bytes, cause: str) -> None:
        super().__init__(f"{names.display(root)} cannot be read: {cause}")
        self.cause = cause


class LostWalk(VitrineError):
    """The walk was given to someone else in the meantime; this one changes nothing more."""


class WalkBroke(VitrineError):
    """The walking child ended before it said that it was done; the next one goes on behind it."""


@dataclass(slots=True)
class Walking:
    """A claimed batch, and what its walk told about the root so far."""

    batch_id: int
    claim: uuid.UUID
    root_id: int
    root: bytes
    under: bytes
    after: bytes | None
    mode: str
    known_as: str | None
    """The identity of the root when it was last read."""
    identity: str | None = None
    knows_inodes: bool = False
    """Whether a file can be known again by its inode."""

    @property
    def span(self) -> tuple[bytes, bytes]:
        """Bounds of the paths that it covers, the upper one not included."""
        return inside(self.under)

    @property
    def in_place(self) -> bool:
        """Whether the files under this root are those of its assets."""
        return self.mode == Mode.IN_PLACE


def inside(directory: bytes) -> tuple[bytes, bytes]:
    """Bounds of the paths inside a folder of a root; of all for the root itself."""
    return (directory + b"/", directory + b"0") if directory else (b"", BEYOND)


async def load(sql: Connection[Any], batch_id: int, claim: uuid.UUID) -> Walking:
    """Everything the walk needs."""
    row = await sql.fetchrow(
        "SELECT root_id, path, under, cursor, root.mode, identity FROM import_batch b"
        " JOIN root ON root.id = root_id WHERE b.id = $1 AND b.claim = $2",
        batch_id,
        claim,
    )
    if row is None:
        raise LostWalk("The scan was taken over")
    return Walking(batch_id, claim, *row)
