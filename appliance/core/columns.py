"""Columns that every long-running row carries, and what "alive" means for them."""

from __future__ import annotations

import uuid
from datetime import date, datetime
from typing import Any, ClassVar

from sqlalchemy import BigInteger, Date, DateTime, Identity, MetaData, SmallInteger, Text, func, text
from sqlalchemy.dialects.postgresql import UUID
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}


class Base(DeclarativeBase):
    """All tables; bigint identity keys, instants with zone."""

    metadata = MetaData(naming_convention=NAMES)
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        int: BigInteger,
        str: Text,
        datetime: DateTime(timezone=True),
        date: Date(),
        uuid.UUID: UUID(as_uuid=True),
    }


class Keyed:
    """A bigint identity key."""

    id: Mapped[int] = mapped_column(Identity(always=False), primary_key=True)


class LedgerColumns:
    """A row that a worker holds for a while: the fence, the holder and the moment it was taken.

    `claim` is a random fence drawn by the claiming UPDATE and checked by the finishing one: whoever
    was declared dead in between changes nothing when it wakes up.
    """

    claim: Mapped[uuid.UUID | None]
    worker_id: Mapped[int | None]
    claimed_at: Mapped[datetime | None]


class RunColumns(LedgerColumns):
    """A row of a run task's ledger: one row is one execution."""

    queued_at: Mapped[datetime] = mapped_column(server_default=func.now())
    finished_at: Mapped[datetime | None]
    error: Mapped[str | None]


class ItemColumns(LedgerColumns):
    """A row that a drain task works through.

    `started_at` is written before the risky part begins. `deliveries` counts deaths of the decode
    child that held this row; `interruptions` counts deaths of everything else around it.
    """

    queued_at: Mapped[datetime] = mapped_column(server_default=func.now())
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    deliveries: Mapped[int] = mapped_column(SmallInteger, server_default=text("0"))
    interruptions: Mapped[int] = mapped_column(SmallInteger, server_default=text("0"))


MAX_DELIVERIES = 3
ALONE_AFTER_DELIVERIES = 2
ALONE_AFTER_INTERRUPTIONS = 10
ALONE = f"(deliveries >= {ALONE_AFTER_DELIVERIES} OR interruptions >= {ALONE_AFTER_INTERRUPTIONS})"
"""SQL: this row is worked on while nothing else is, in a fresh child."""


def one_of(column: str, states: type[Any]) -> str:
    """CHECK text: the column holds a member of the enum."""
    return f"{column} IN ({', '.join(repr(str(s)) for s in states)})"
