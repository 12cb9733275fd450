"""Roots and what was seen under them."""

from __future__ import annotations

import enum
from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index, Integer, SmallInteger, UniqueConstraint, text
from sqlalchemy.dialects.postgresql import BYTEA
from sqlalchemy.orm import Mapped, mapped_column

from appliance.core.columns import Base, Keyed, one_of


class Mode(enum.StrEnum):
    """What an import does with the bytes."""

    IN_PLACE = "in_place"
    COPY = "copy"
    MOVE = "move"


class RootStatus(enum.StrEnum):
    """Whether a root can be read at the moment."""

    READY = "ready"
    UNAVAILABLE = "unavailable"
    RETIRED = "retired"


class Purpose(enum.StrEnum):
    """What a root is for: a person's folder, or the place where uploads arrive."""

    FOLDER = "folder"
    UPLOADS = "uploads"


class Root(Keyed, Base):
    """A folder that is scanned."""

    __tablename__ = "root"
    __table_args__ = (
        UniqueConstraint("path"),
        CheckConstraint(one_of("mode", Mode), name="mode"),
        CheckConstraint(one_of("status", RootStatus), name="status"),
        CheckConstraint(one_of("purpose", Purpose), name="purpose"),
        CheckConstraint("scan_hour BETWEEN 0 AND 23", name="scan_hour"),
        Index("uq_root_uploads", "purpose", unique=True, postgresql_where=text("purpose = 'uploads'")),
    )

    path: Mapped[bytes] = mapped_column(BYTEA)
    mode: Mapped[str]
    purpose: Mapped[str] = mapped_column(server_default=text("'folder'"))
    status: Mapped[str] = mapped_column(server_default=text("'ready'"))
    reason: Mapped[str | None]
    added_at: Mapped[datetime] = mapped_column(server_default=text("now()"))
    scanned_at: Mapped[datetime | None]
    scan_hour: Mapped[int | None] = mapped_column(SmallInteger)
    """The hour of the day at which it is scanned by itself; None means never."""
    next_scan_at: Mapped[datetime | None]
    """When that is due next; a moment that was slept through is made up for."""
    identity: Mapped[str | None]
    """What was mounted there when it was last read."""
    held_batch: Mapped[int | None]
    """The scan that missed too many files at once; nothing is judged until a person has."""
    held_gone: Mapped[int] = mapped_column(server_default=text("0"))
    held_known: Mapped[int] = mapped_column(server_default=text("0"))
    watched: Mapped[bool] = mapped_column(server_default=text("true"))
    """Whether it is looked at for changes between scans."""
    watch_at: Mapped[datetime] = mapped_column(server_default=text("now()"))
    watch_ms: Mapped[int | None] = mapped_column(Integer)
    """What the last look for changes took."""


class Outcome(enum.StrEnum):
    """What became of a path."""

    PENDING = "pending"
    IMPORTED = "imported"
    DUPLICATE = "duplicate"
    FAILED = "failed"
    SKIPPED = "skipped"
    MISSING = "missing"
    """It held an asset and is not there any more; it is the same again when it returns."""


class RootEntry(Keyed, Base):
    """One path under a root as last seen: makes rescans cheap and failures durable."""

    __tablename__ = "root_entry"
    __table_args__ = (
        UniqueConstraint("root_id", "path"),
        CheckConstraint(one_of("outcome", Outcome), name="outcome"),
        # The failure inbox.
        Index(
            "ix_root_entry_failed",
            "reason",
            "id",
            postgresql_where=text("outcome = 'failed' AND NOT ignored"),
        ),
        # What a person told us to leave alone.
        Index("ix_root_entry_ignored", "id", postgresql_where=text("ignored")),
        Index("ix_root_entry_asset", "asset_id", postgresql_where=text("asset_id IS NOT NULL")),
        # What a deletion keeps out: listed by id, let in by content.
        Index(
            "ix_root_entry_kept_out",
            "id",
            postgresql_where=text("outcome = 'skipped' AND reason = 'tombstoned'"),
        ),
        Index(
            "ix_root_entry_kept_content",
            "sha256",
            postgresql_where=text("outcome = 'skipped' AND reason = 'tombstoned'"),
        ),
        # A file under another name is known again by its inode.
        Index("ix_root_entry_inode", "root_id", "inode", postgresql_where=text("asset_id IS NOT NULL")),
        {"postgresql_with": {"fillfactor": "80"}},
    )

    root_id: Mapped[int] = mapped_column(ForeignKey("root.id"))
    path: Mapped[bytes] = mapped_column(BYTEA)
    size: Mapped[int]
    mtime_ns: Mapped[int]
    inode: Mapped[int]
    """Modulo 2^63: some file systems use all 64 bits. 0 where inodes say nothing; DISPLACED: it must be read
    when it is met, since another path took its place.
    """
    sha256: Mapped[bytes | None] = mapped_column(BYTEA)
    outcome: Mapped[str]
    reason: Mapped[str | None]
    detail: Mapped[str | None]
    asset_id: Mapped[int | None] = mapped_column(ForeignKey("asset.id", ondelete="SET NULL"))
    ignored: Mapped[bool] = mapped_column(server_default=text("false"))
    seen_batch: Mapped[int]
    """The last batch whose walk met this path."""
    first_seen_at: Mapped[datetime] = mapped_column(server_default=text("now()"))
    changed_at: Mapped[datetime] = mapped_column(server_default=text("now()"))


class RootFolder(Base):
    """A folder under a root with the time at which its list of names was last read."""

    __tablename__ = "root_folder"
    __table_args__ = ({"postgresql_with": {"fillfactor": "80"}},)

    root_id: Mapped[int] = mapped_column(ForeignKey("root.id", ondelete="CASCADE"), primary_key=True)
    path: Mapped[bytes] = mapped_column(BYTEA, primary_key=True)
    mtime_ns: Mapped[int]
    """-1 where its names may have changed once more without another time."""
    seen_batch: Mapped[int]
