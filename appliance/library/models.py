"""Assets, their files and where they came from."""

from __future__ import annotations

import enum
from datetime import date, datetime
from typing import Any

from sqlalchemy import (
    CheckConstraint,
    Computed,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    SmallInteger,
    UniqueConstraint,
    literal_column,
    text,
)
from sqlalchemy.dialects.postgresql import BYTEA, JSONB
from sqlalchemy.orm import Mapped, mapped_column

from appliance.core.columns import Base, Keyed, one_of


class Kind(enum.StrEnum):
    """What an asset is to someone who looks at it."""

    STILL = "still"
    ANIMATION = "animation"
    VIDEO = "video"
    VOLUME = "volume"
    """Ordered pages in one archive; each page is an asset as well."""


class AssetState(enum.StrEnum):
    """Where an asset stands in the life of the collection."""

    INBOX = "inbox"
    KEPT = "kept"
    ARCHIVED = "archived"
    TRASHED = "trashed"
    INSIDE = "inside"
    """Shown only within another asset: a page of a volume, the film of a Live Photo."""


ASSET_TRANSITIONS: dict[AssetState, frozenset[AssetState]] = {
    s: frozenset(AssetState) - {s} for s in AssetState
}


class DateSource(enum.StrEnum):
    """Where the taken date was found, best first; a person's word stands above all of them."""

    EXIF = "exif"
    CONTAINER = "container"
    SIDECAR = "sidecar"
    NAME = "name"
    MTIME = "mtime"
    IMPORT = "import"
    HUMAN = "human"
    """Set by a person: no later reading of the file changes it."""


VISIBLE = "state IN ('inbox', 'kept') AND NOT private"
"""SQL: what the timeline shows; the partial indexes say it in the same words."""
HIDDEN = "state IN ('inbox', 'kept') AND private"
"""SQL: what was marked private; administrators alone find it, with `is:private`."""


class Asset(Keyed, Base):
    """One item of the collection; identified by the SHA-256 and the size of its bytes."""

    __tablename__ = "asset"
    __table_args__ = (
        UniqueConstraint("sha256", "size"),
        CheckConstraint(one_of("kind", Kind), name="kind"),
        CheckConstraint(one_of("state", AssetState), name="state"),
        CheckConstraint(one_of("date_source", DateSource), name="date_source"),
        CheckConstraint("rating BETWEEN 0 AND 5", name="rating"),
        # Timeline pages, both directions.
        Index(
            "ix_asset_timeline", text("effective_at DESC"), text("id DESC"), postgresql_where=text(VISIBLE)
        ),
        # "n new": visible assets above the newest id that the page knows; also the order of arrival.
        Index("ix_asset_arrival", text("id DESC"), postgresql_where=text(VISIBLE)),
        # The same order for what the timeline does not show: archive, trash, private.
        Index(
            "ix_asset_archived",
            text("effective_at DESC"),
            text("id DESC"),
            postgresql_where=text("state = 'archived'"),
        ),
        Index(
            "ix_asset_trashed",
            text("effective_at DESC"),
            text("id DESC"),
            postgresql_where=text("state = 'trashed'"),
        ),
        Index(
            "ix_asset_inside",
            text("effective_at DESC"),
            text("id DESC"),
            postgresql_where=text("state = 'inside'"),
        ),
        Index(
            "ix_asset_private",
            text("effective_at DESC"),
            text("id DESC"),
            postgresql_where=text(HIDDEN),
        ),
        # Trash retention.
        Index("ix_asset_trashed_at", "trashed_at", "id", postgresql_where=text("state = 'trashed'")),
        # Whether a film that comes in may be a copy of one in the trash.
        Index(
            "ix_asset_trashed_film",
            "duration_ms",
            postgresql_where=text("state = 'trashed' AND kind = 'video'"),
        ),
        # The other orders that a search can ask for.
        Index("ix_asset_rating", text("rating DESC"), text("id DESC"), postgresql_where=text(VISIBLE)),
        Index("ix_asset_size", text("size DESC"), text("id DESC"), postgresql_where=text(VISIBLE)),
        Index("ix_asset_shuffle", "shuffle", "id", postgresql_where=text(VISIBLE)),
        Index(
            "ix_asset_duration",
            text("coalesce(duration_ms, 0::bigint) DESC"),
            text("id DESC"),
            postgresql_where=text(VISIBLE),
        ),
        # Words in what people wrote.
        Index(
            "ix_asset_title",
            "title",
            postgresql_using="gin",
            postgresql_ops={"title": "gin_trgm_ops"},
            postgresql_where=text("title IS NOT NULL"),
        ),
        Index(
            "ix_asset_note",
            "note",
            postgresql_using="gin",
            postgresql_ops={"note": "gin_trgm_ops"},
            postgresql_where=text("note IS NOT NULL"),
        ),
        # Rare by nature, so that walking the timeline for them would read most of it.
        Index(
            "ix_asset_favourite",
            text("effective_at DESC"),
            text("id DESC"),
            postgresql_where=text(f"favourite AND {VISIBLE}"),
        ),
        # Found at once among any number that are there.
        Index(
            "ix_asset_missing",
            text("effective_at DESC"),
            text("id DESC"),
            postgresql_where=text(f"missing_since IS NOT NULL AND {VISIBLE}"),
        ),
        # The other half of a still and its film.
        Index(
            "ix_asset_live",
            literal_column("(facts ->> 'live_id')").label("live_id"),
            postgresql_where=text("facts ->> 'live_id' IS NOT NULL"),
        ),
        CheckConstraint("turn IN (0, 90, 180, 270)", name="turn"),
    )

    kind: Mapped[str]
    sha256: Mapped[bytes] = mapped_column(BYTEA)
    size: Mapped[int]
    mime: Mapped[str]
    width: Mapped[int] = mapped_column(Integer)
    height: Mapped[int] = mapped_column(Integer)
    duration_ms: Mapped[int | None]
    frames: Mapped[int | None] = mapped_column(Integer)
    taken_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=False))
    taken_offset: Mapped[int | None] = mapped_column(SmallInteger)
    date_source: Mapped[str]
    effective_at: Mapped[datetime] = mapped_column(DateTime(timezone=False))
    added_at: Mapped[datetime] = mapped_column(server_default=text("now()"))
    title: Mapped[str | None]
    note: Mapped[str | None]
    """What a person wrote about it; `notes` holds what an import had to leave out."""
    rating: Mapped[int] = mapped_column(SmallInteger, server_default=text("0"))
    favourite: Mapped[bool] = mapped_column(server_default=text("false"))
    private: Mapped[bool] = mapped_column(server_default=text("false"))
    turn: Mapped[int] = mapped_column(SmallInteger, server_default=text("0"))
    """Degrees clockwise that a person turned it by; `width` and `height` are as displayed after it."""
    own_date: Mapped[dict[str, Any] | None] = mapped_column(JSONB)
    """The date that was read from the file, kept by a trigger while a person's own stands above it."""
    shuffle: Mapped[int] = mapped_column(Integer, Computed("hashint8(id) & 2147483647", persisted=True))
    """Its place in the random order, which a seed rotates."""
    dominant: Mapped[int | None] = mapped_column(SmallInteger)
    state: Mapped[str] = mapped_column(server_default=text("'kept'"))
    trashed_at: Mapped[datetime | None]
    trashed_from: Mapped[str | None]
    """The state before the trash, to which restoring returns."""
    flags: Mapped[list[str]] = mapped_column(JSONB, server_default=text("'[]'::jsonb"))
    notes: Mapped[list[str]] = mapped_column(JSONB, server_default=text("'[]'::jsonb"))
    facts: Mapped[dict[str, Any]] = mapped_column(JSONB, server_default=text("'{}'::jsonb"))
    missing_since: Mapped[datetime | None]
    """Set and cleared by triggers of `asset_file`: since when none of its files is left."""


class Fault(enum.StrEnum):
    """What a check found wrong with a file that its import had read without complaint."""

    ALTERED = "altered"
    """Other bytes under the same size and time: nobody wrote it, the disk lost it."""
    MISSING = "missing"
    UNREADABLE = "unreadable"
    UNDECODABLE = "undecodable"
    """The bytes are the ones that came in, but the decoder of today refuses them."""


class AssetFile(Keyed, Base):
    """One place where an asset's bytes lie: under a root, or stored by us (`root_id` NULL)."""

    __tablename__ = "asset_file"
    __table_args__ = (
        Index("ix_asset_file_asset", "asset_id"),
        UniqueConstraint("root_id", "path", postgresql_nulls_not_distinct=True),
        CheckConstraint(one_of("fault", Fault), name="fault"),
        # What was checked longest ago, root by root: one that is away costs nothing.
        Index("ix_asset_file_verified", text("coalesce(root_id, 0::bigint)"), "verified_at", "id"),
        Index("ix_asset_file_fault", "id", postgresql_where=text("fault IS NOT NULL")),
    )

    asset_id: Mapped[int] = mapped_column(ForeignKey("asset.id", ondelete="CASCADE"))
    root_id: Mapped[int | None] = mapped_column(ForeignKey("root.id"))
    path: Mapped[bytes] = mapped_column(BYTEA)
    """Relative to the root; for a stored file relative to the originals."""
    size: Mapped[int]
    mtime_ns: Mapped[int]
    added_at: Mapped[datetime] = mapped_column(server_default=text("now()"))
    verified_at: Mapped[datetime] = mapped_column(server_default=text("now()"))
    """When its bytes were last compared with the hash; the import counts."""
    fault: Mapped[str | None]
    fault_detail: Mapped[str | None]
    fault_at: Mapped[datetime | None]


class Provenance(Keyed, Base):
    """One way by which an asset's bytes reached the collection; an asset may have many."""

    __tablename__ = "provenance"
    __table_args__ = (
        Index("ix_provenance_asset", "asset_id"),
        # Words in file names, which are bytes: searched in their escaped form.
        Index(
            "ix_provenance_name",
            literal_column("lower(encode(path, 'escape'))").label("escaped"),
            postgresql_using="gin",
            postgresql_ops={"escaped": "gin_trgm_ops"},
        ),
        CheckConstraint("how IN ('folder', 'upload', 'subscription')", name="how"),
    )

    asset_id: Mapped[int] = mapped_column(ForeignKey("asset.id", ondelete="CASCADE"))
    how: Mapped[str]
    root_id: Mapped[int | None]
    """None for an upload; its path is the file name that the sender gave."""
    batch_id: Mapped[int | None]
    path: Mapped[bytes | None] = mapped_column(BYTEA)
    seen_at: Mapped[datetime] = mapped_column(server_default=text("now()"))


class MonthCount(Base):
    """How many visible assets a month holds; folded from `month_delta`, never counted on a page."""

    __tablename__ = "month_count"

    month: Mapped[date] = mapped_column(primary_key=True)
    assets: Mapped[int]


class MonthDelta(Keyed, Base):
    """Changes of month counts since they were folded; a trigger of `asset` appends, nobody waits."""

    __tablename__ = "month_delta"

    month: Mapped[date]
    assets: Mapped[int]


class Backfill(Base):
    """How far a pass over all assets has come; a killed one goes on from here."""

    __tablename__ = "backfill"

    name: Mapped[str] = mapped_column(primary_key=True)
    position: Mapped[int] = mapped_column(server_default=text("0"))
    """The last asset that was looked at; 0 between two passes."""
    began_at: Mapped[datetime] = mapped_column(server_default=text("now()"))
