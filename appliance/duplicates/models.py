"""Hashes of what pictures show, pairs that look alike, what was decided, and what was deleted."""

from __future__ import annotations

import enum
from datetime import datetime

from sqlalchemy import (
    CheckConstraint,
    Computed,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    SmallInteger,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import BYTEA
from sqlalchemy.orm import Mapped, mapped_column

from appliance.core.columns import Base, ItemColumns, Keyed, one_of


class FingerprintStatus(enum.StrEnum):
    """States of the hashing of one asset."""

    PENDING = "pending"
    PROCESSING = "processing"
    COMPLETE = "complete"
    FAILED = "failed"


FINGERPRINT_TRANSITIONS: dict[FingerprintStatus, frozenset[FingerprintStatus]] = {
    FingerprintStatus.PENDING: frozenset({FingerprintStatus.PROCESSING}),
    FingerprintStatus.PROCESSING: frozenset(
        {FingerprintStatus.PENDING, FingerprintStatus.COMPLETE, FingerprintStatus.FAILED}
    ),
    # Hashed anew when the version of hashes moves.
    FingerprintStatus.COMPLETE: frozenset({FingerprintStatus.PENDING}),
    FingerprintStatus.FAILED: frozenset({FingerprintStatus.PENDING}),
}


class Fingerprint(Keyed, ItemColumns, Base):
    """How far one asset is hashed: the import does it for pictures, a drain for films and for older assets.

    It says nothing about how many hashes there are: what shows too little has none.
    """

    __tablename__ = "fingerprint"
    __table_args__ = (
        UniqueConstraint("asset_id"),
        CheckConstraint(one_of("status", FingerprintStatus), name="status"),
        Index("ix_fingerprint_pending", "id", postgresql_where=text("status = 'pending'")),
        Index("ix_fingerprint_processing", "worker_id", postgresql_where=text("status = 'processing'")),
        {"postgresql_with": {"fillfactor": "85"}},
    )

    asset_id: Mapped[int] = mapped_column(ForeignKey("asset.id", ondelete="CASCADE"))
    status: Mapped[str] = mapped_column(server_default=text("'pending'"))
    version: Mapped[int] = mapped_column(SmallInteger)
    """Of the hashes; see `media.phash.VERSION`."""
    reason: Mapped[str | None]
    detail: Mapped[str | None]


class Place(enum.StrEnum):
    """What a hash takes part in; a trigger of `asset` keeps it true."""

    OPEN = "open"
    """It is compared with what comes in, to find duplicates."""
    DELETED = "deleted"
    """In the trash or deleted for good: copies of it are kept out."""
    INSIDE = "inside"
    """A page of a volume: it is neither."""


def _band(number: int) -> Computed:
    return Computed(f"(((hash >> {16 * number}) & 65535) - 32768)::smallint", persisted=True)


def _band_indexes(place: Place) -> list[Index]:
    return [
        Index(f"ix_phash_{place}_{n}", f"band{n}", postgresql_where=text(f"place = '{place}'"))
        for n in range(4)
    ]


class Phash(Keyed, Base):
    """One perceptual hash: of a picture, of a frame of a film, or of something that was deleted.

    Two hashes that differ in at most seven of 64 bits differ in at most one bit in one of the four
    bands: looking up each band and its sixteen neighbours finds all of them.
    """

    __tablename__ = "phash"
    __table_args__ = (
        CheckConstraint("(asset_id IS NULL) <> (tombstone_id IS NULL)", name="owner"),
        CheckConstraint(one_of("place", Place), name="place"),
        Index("ix_phash_asset", "asset_id", postgresql_where=text("asset_id IS NOT NULL")),
        Index("ix_phash_tombstone", "tombstone_id", postgresql_where=text("tombstone_id IS NOT NULL")),
        Index("ix_phash_unsearched", "id", postgresql_where=text("NOT searched AND place = 'open'")),
        *_band_indexes(Place.OPEN),
        *_band_indexes(Place.DELETED),
        {"postgresql_with": {"fillfactor": "85"}},
    )

    asset_id: Mapped[int | None] = mapped_column(ForeignKey("asset.id", ondelete="CASCADE"))
    tombstone_id: Mapped[int | None] = mapped_column(ForeignKey("tombstone.id", ondelete="CASCADE"))
    at_ms: Mapped[int | None] = mapped_column(Integer)
    """The moment of a frame of a film."""
    hash: Mapped[int]
    mirror: Mapped[int]
    reach: Mapped[int] = mapped_column(SmallInteger)
    place: Mapped[str] = mapped_column(server_default=text("'open'"))
    searched: Mapped[bool] = mapped_column(server_default=text("false"))
    """Compared with all others that were there before it."""
    band0: Mapped[int] = mapped_column(SmallInteger, _band(0))
    band1: Mapped[int] = mapped_column(SmallInteger, _band(1))
    band2: Mapped[int] = mapped_column(SmallInteger, _band(2))
    band3: Mapped[int] = mapped_column(SmallInteger, _band(3))


class Verdict(enum.StrEnum):
    """What a person said about two assets that look alike and both stay."""

    ALTERNATE = "alternate"
    """Versions of one thing."""
    DIFFERENT = "different"


class DuplicatePair(Keyed, Base):
    """Two assets that look alike."""

    __tablename__ = "duplicate_pair"
    __table_args__ = (
        UniqueConstraint("a_id", "b_id"),
        CheckConstraint("a_id < b_id", name="ordered"),
        CheckConstraint(one_of("verdict", Verdict), name="verdict"),
        Index("ix_duplicate_pair_b", "b_id"),
        # The review page, best match first.
        Index("ix_duplicate_pair_shown", "distance", "id", postgresql_where=text("shown")),
        {"postgresql_with": {"fillfactor": "85"}},
    )

    a_id: Mapped[int] = mapped_column(ForeignKey("asset.id", ondelete="CASCADE"))
    b_id: Mapped[int] = mapped_column(ForeignKey("asset.id", ondelete="CASCADE"))
    distance: Mapped[int] = mapped_column(SmallInteger)
    """Bits of 64; of films the mean of the frames that match."""
    mirrored: Mapped[bool]
    verdict: Mapped[str | None]
    shown: Mapped[bool] = mapped_column(server_default=text("false"))
    """Whether it waits for a decision: kept by `settle_pairs`, which knows groups and the trash."""
    found_at: Mapped[datetime] = mapped_column(server_default=text("now()"))


class DuplicateDecision(Keyed, Base):
    """What holds between two contents, whatever becomes of their assets."""

    __tablename__ = "duplicate_decision"
    __table_args__ = (
        UniqueConstraint("a_sha256", "a_size", "b_sha256", "b_size"),
        CheckConstraint("(a_sha256, a_size) < (b_sha256, b_size)", name="ordered"),
        CheckConstraint(one_of("verdict", Verdict), name="verdict"),
    )

    a_sha256: Mapped[bytes] = mapped_column(BYTEA)
    a_size: Mapped[int]
    b_sha256: Mapped[bytes] = mapped_column(BYTEA)
    b_size: Mapped[int]
    verdict: Mapped[str]
    user_id: Mapped[int | None]
    decided_at: Mapped[datetime] = mapped_column(server_default=text("now()"))


class Alternate(Base):
    """An asset that is a version of others: all of one group."""

    __tablename__ = "alternate"
    __table_args__ = (Index("ix_alternate_group", "group_id"),)

    asset_id: Mapped[int] = mapped_column(
        ForeignKey("asset.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    group_id: Mapped[int]
    """The id of the asset that the group began with."""


class Tombstone(Keyed, Base):
    """A remembered deletion: the content that must not come in again by itself, and what looks like it."""

    __tablename__ = "tombstone"
    __table_args__ = (
        UniqueConstraint("sha256", "size"),
        # Whether a film that comes in may be a copy of a deleted one.
        Index("ix_tombstone_film", "duration_ms", postgresql_where=text("kind = 'video'")),
    )

    sha256: Mapped[bytes] = mapped_column(BYTEA)
    size: Mapped[int]
    kind: Mapped[str]
    """Empty where nothing more than the content is known."""
    width: Mapped[int] = mapped_column(Integer)
    height: Mapped[int] = mapped_column(Integer)
    duration_ms: Mapped[int | None]
    taken_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=False))
    """As its camera wrote it; another picture of a burst has another."""
    name: Mapped[str]
    user_id: Mapped[int | None]
    deleted_at: Mapped[datetime] = mapped_column(server_default=text("now()"))


class Welcome(Base):
    """A content that a person brought in although something like it was deleted."""

    __tablename__ = "welcome"

    sha256: Mapped[bytes] = mapped_column(BYTEA, primary_key=True)
    size: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    user_id: Mapped[int | None]
    said_at: Mapped[datetime] = mapped_column(server_default=text("now()"))
