"""What is shown within something else: the pages of volumes, and the films of Live Photos."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, Integer, SmallInteger, UniqueConstraint, text
from sqlalchemy.dialects.postgresql import BYTEA, JSONB
from sqlalchemy.orm import Mapped, mapped_column

from appliance.core.columns import Base, ItemColumns, Keyed, one_of
from appliance.library.rendition_models import RenditionStatus


class Volume(Keyed, ItemColumns, Base):
    """One archive of pages, and whether its pages have become assets yet."""

    __tablename__ = "volume"
    __table_args__ = (
        UniqueConstraint("asset_id"),
        CheckConstraint(one_of("status", RenditionStatus), name="status"),
        Index(
            "ix_volume_pending", "priority", "queued_at", "id", postgresql_where=text("status = 'pending'")
        ),
        Index("ix_volume_processing", "worker_id", postgresql_where=text("status = 'processing'")),
        Index("ix_volume_version_of", "version_of", postgresql_where=text("version_of IS NOT NULL")),
    )

    asset_id: Mapped[int] = mapped_column(ForeignKey("asset.id", ondelete="CASCADE"))
    status: Mapped[str] = mapped_column(server_default=text("'pending'"))
    priority: Mapped[int] = mapped_column(SmallInteger, server_default=text("5"))
    """0 = someone reads it now, 5 = background."""
    right_to_left: Mapped[bool] = mapped_column(server_default=text("false"))
    version_of: Mapped[int | None] = mapped_column(ForeignKey("asset.id", ondelete="SET NULL"))
    """The volume in whose place this one was found."""
    reason: Mapped[str | None]
    detail: Mapped[str | None]


class VolumePage(Base):
    """One page: where its bytes lie in the archive, and the asset that they are."""

    __tablename__ = "volume_page"
    __table_args__ = (
        CheckConstraint("status IN ('pending', 'complete', 'failed')", name="status"),
        Index("ix_volume_page_asset", "asset_id", postgresql_where=text("asset_id IS NOT NULL")),
    )

    volume_id: Mapped[int] = mapped_column(ForeignKey("asset.id", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(Integer, primary_key=True)
    """From 1."""
    name: Mapped[bytes] = mapped_column(BYTEA)
    hops: Mapped[list[Any]] = mapped_column(JSONB)
    """The way to its bytes: (offset, stored, size, method, crc) for each stretch on it."""
    mime: Mapped[str]
    asset_id: Mapped[int | None] = mapped_column(ForeignKey("asset.id", ondelete="SET NULL"))
    status: Mapped[str] = mapped_column(server_default=text("'pending'"))
    """A complete page without an asset was deleted for good."""
    reason: Mapped[str | None]
    detail: Mapped[str | None]


class ReadingPlace(Base):
    """Where a person is in a volume."""

    __tablename__ = "reading_place"
    __table_args__ = (Index("ix_reading_place_volume", "volume_id"),)

    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"), primary_key=True)
    volume_id: Mapped[int] = mapped_column(ForeignKey("asset.id", ondelete="CASCADE"), primary_key=True)
    page: Mapped[int] = mapped_column(Integer)
    right_to_left: Mapped[bool | None]
    """The direction that this person chose; None is the volume's own."""
    seen_at: Mapped[datetime] = mapped_column(server_default=text("now()"))


class LivePair(Base):
    """A still and the film that its camera took with it; the film may serve an edited copy as well."""

    __tablename__ = "live_pair"
    __table_args__ = (Index("ix_live_pair_film", "film_id"),)

    still_id: Mapped[int] = mapped_column(ForeignKey("asset.id", ondelete="CASCADE"), primary_key=True)
    film_id: Mapped[int] = mapped_column(ForeignKey("asset.id", ondelete="CASCADE"))
