"""Derived pictures, and films that are made playable."""

from __future__ import annotations

import enum
from datetime import datetime

from sqlalchemy import (
    CheckConstraint,
    Float,
    ForeignKey,
    Index,
    Integer,
    SmallInteger,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from appliance.core.columns import Base, ItemColumns, Keyed, one_of


class RenditionStatus(enum.StrEnum):
    """States of a derived picture."""

    PENDING = "pending"
    PROCESSING = "processing"
    COMPLETE = "complete"
    FAILED = "failed"


RENDITION_TRANSITIONS: dict[RenditionStatus, frozenset[RenditionStatus]] = {
    RenditionStatus.PENDING: frozenset({RenditionStatus.PROCESSING}),
    RenditionStatus.PROCESSING: frozenset(
        {RenditionStatus.PENDING, RenditionStatus.COMPLETE, RenditionStatus.FAILED}
    ),
    RenditionStatus.COMPLETE: frozenset({RenditionStatus.PENDING}),
    RenditionStatus.FAILED: frozenset({RenditionStatus.PENDING}),
}


class Rendition(Keyed, ItemColumns, Base):
    """One derived picture of one asset; what is missing is a row that waits."""

    __tablename__ = "rendition"
    __table_args__ = (
        UniqueConstraint("asset_id", "name"),
        CheckConstraint(one_of("status", RenditionStatus), name="status"),
        # The drain's claim: what someone is looking at first, then in order of arrival.
        Index("ix_rendition_pending", "priority", "id", postgresql_where=text("status = 'pending'")),
        Index("ix_rendition_processing", "worker_id", postgresql_where=text("status = 'processing'")),
        # Made on demand, and let go when nobody looked for long.
        Index("ix_rendition_on_demand", "used_at", "id", postgresql_where=text("name IN ('full', 'play')")),
        {"postgresql_with": {"fillfactor": "85"}},
    )

    asset_id: Mapped[int] = mapped_column(ForeignKey("asset.id", ondelete="CASCADE"))
    name: Mapped[str]
    status: Mapped[str] = mapped_column(server_default=text("'pending'"))
    priority: Mapped[int] = mapped_column(SmallInteger, server_default=text("5"))
    """0 = someone waits for it now, 1 = a neighbour of that, 5 = background."""
    width: Mapped[int | None] = mapped_column(Integer)
    height: Mapped[int | None] = mapped_column(Integer)
    bytes: Mapped[int | None]
    version: Mapped[int] = mapped_column(Integer, server_default=text("1"))
    used_at: Mapped[datetime | None]
    """When one that is made on demand was last asked for, to the hour."""
    reason: Mapped[str | None]
    detail: Mapped[str | None]


class Conversion(Keyed, ItemColumns, Base):
    """A video that is being made playable because somebody watches; the `play` rendition is what it leaves.

    It is a wish with a lease: whoever waits renews it, and a wish that nobody renews is forgotten.
    """

    __tablename__ = "conversion"
    __table_args__ = (
        UniqueConstraint("asset_id"),
        CheckConstraint(one_of("status", RenditionStatus), name="status"),
        Index("ix_conversion_pending", "id", postgresql_where=text("status = 'pending'")),
        Index("ix_conversion_processing", "worker_id", postgresql_where=text("status = 'processing'")),
        Index("ix_conversion_finished", "finished_at", postgresql_where=text("finished_at IS NOT NULL")),
    )

    asset_id: Mapped[int] = mapped_column(ForeignKey("asset.id", ondelete="CASCADE"))
    status: Mapped[str] = mapped_column(server_default=text("'pending'"))
    wanted_until: Mapped[datetime]
    share: Mapped[float] = mapped_column(Float, server_default=text("0"))
    """How much of it is made, 0 to 1."""
    made_s: Mapped[float] = mapped_column(Float, server_default=text("0"))
    took_s: Mapped[float] = mapped_column(Float, server_default=text("0"))
    reason: Mapped[str | None]
    detail: Mapped[str | None]
