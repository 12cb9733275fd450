"""Bulk actions: what was asked, which assets it concerns, and how each was before."""

from __future__ import annotations

import enum
from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, SmallInteger, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from appliance.core.columns import Base, Keyed, RunColumns, one_of


class OperationStatus(enum.StrEnum):
    """States of an operation."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    ERROR = "error"
    CANCELLED = "cancelled"


OPERATION_TRANSITIONS: dict[OperationStatus, frozenset[OperationStatus]] = {
    # Done at once: a small one ends in the transaction that wrote it down.
    OperationStatus.PENDING: frozenset(
        {OperationStatus.RUNNING, OperationStatus.DONE, OperationStatus.CANCELLED}
    ),
    OperationStatus.RUNNING: frozenset(
        {
            OperationStatus.PENDING,
            OperationStatus.DONE,
            OperationStatus.ERROR,
            OperationStatus.CANCELLED,
        }
    ),
    OperationStatus.DONE: frozenset(),
    OperationStatus.ERROR: frozenset(),
    OperationStatus.CANCELLED: frozenset(),
}


class Operation(Keyed, RunColumns, Base):
    """One bulk action on a selection whose ids were written down before anything was changed.

    Undoing is an operation of its own that names what it undoes.
    """

    __tablename__ = "operation"
    __table_args__ = (
        CheckConstraint(one_of("status", OperationStatus), name="status"),
        Index("ix_operation_live", "id", postgresql_where=text("status IN ('pending', 'running')")),
        Index("ix_operation_recent", text("id DESC")),
        # One undo of each operation at a time, however often the button is pressed: whoever asks meanwhile
        # waits here for the first, and then finds what that one left.
        Index(
            "uq_operation_undoing",
            "undoes",
            unique=True,
            postgresql_where=text("undoes IS NOT NULL AND status IN ('pending', 'running')"),
        ),
        Index("ix_operation_undoes", "undoes", postgresql_where=text("undoes IS NOT NULL")),
        {"postgresql_with": {"fillfactor": "70"}},
    )

    kind: Mapped[str]
    """What is done: `tag untag rate favourite archive keep trash restore private date title purge undo …`."""
    arguments: Mapped[dict[str, Any]] = mapped_column(JSONB, server_default=text("'{}'::jsonb"))
    query: Mapped[str] = mapped_column(server_default=text("''"))
    """The search that the selection was made in, for the history page."""
    user_id: Mapped[int | None]
    status: Mapped[str] = mapped_column(server_default=text("'pending'"))
    total: Mapped[int] = mapped_column(server_default=text("0"))
    done: Mapped[int] = mapped_column(server_default=text("0"))
    changed: Mapped[int] = mapped_column(server_default=text("0"))
    interruptions: Mapped[int] = mapped_column(SmallInteger, server_default=text("0"))
    undoes: Mapped[int | None] = mapped_column(ForeignKey("operation.id", ondelete="CASCADE"))
    notes: Mapped[dict[str, Any]] = mapped_column(JSONB, server_default=text("'{}'::jsonb"))
    """Counts of what was met on the way: `already_gone`, `changed_since`, …"""
    cancel_asked_at: Mapped[datetime | None]


class OperationItem(Base):
    """One asset of an operation: still to do (`changed` NULL), or done with what was there before.

    No foreign key to the asset: the item outlives what was deleted for good.
    """

    __tablename__ = "operation_item"
    __table_args__ = (
        Index(
            "ix_operation_item_waiting", "operation_id", "asset_id", postgresql_where=text("changed IS NULL")
        ),
        # Which actions changed an asset, for its deletion.
        Index("ix_operation_item_changed", "asset_id", postgresql_where=text("changed")),
    )

    operation_id: Mapped[int] = mapped_column(
        ForeignKey("operation.id", ondelete="CASCADE"), primary_key=True
    )
    asset_id: Mapped[int] = mapped_column(primary_key=True)
    changed: Mapped[bool | None]
    before: Mapped[dict[str, Any] | None] = mapped_column(JSONB)


class OperationGone(Base):
    """How many assets of an action one deletion took for good: a sum of few rows, whatever its size."""

    __tablename__ = "operation_gone"

    operation_id: Mapped[int] = mapped_column(
        ForeignKey("operation.id", ondelete="CASCADE"), primary_key=True
    )
    purge_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    assets: Mapped[int]
