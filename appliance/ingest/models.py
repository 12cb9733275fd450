"""Roots, what was seen under them, and the batches and tasks that bring files in."""

from __future__ import annotations

import enum
from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index, Integer, SmallInteger, UniqueConstraint, text
from sqlalchemy.dialects.postgresql import BYTEA
from sqlalchemy.orm import Mapped, mapped_column

from appliance.core.columns import Base, ItemColumns, Keyed, RunColumns, one_of


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


class BatchStatus(enum.StrEnum):
    """States of a batch: its walk, then its tasks."""

    PENDING = "pending"
    WALKING = "walking"
    IMPORTING = "importing"
    DONE = "done"
    ERROR = "error"
    CANCELLED = "cancelled"


class Cause(enum.StrEnum):
    """What a batch came from: a scan, a change that was noticed, trying failures again, or files sent."""

    SCAN = "scan"
    WATCH = "watch"
    RETRY = "retry"
    UPLOAD = "upload"


BATCH_TRANSITIONS: dict[BatchStatus, frozenset[BatchStatus]] = {
    BatchStatus.PENDING: frozenset({BatchStatus.WALKING, BatchStatus.CANCELLED}),
    BatchStatus.WALKING: frozenset(
        {BatchStatus.PENDING, BatchStatus.IMPORTING, BatchStatus.ERROR, BatchStatus.CANCELLED}
    ),
    BatchStatus.IMPORTING: frozenset({BatchStatus.DONE, BatchStatus.CANCELLED}),
    BatchStatus.DONE: frozenset(),
    BatchStatus.ERROR: frozenset(),
    BatchStatus.CANCELLED: frozenset(),
}


class ImportBatch(Keyed, RunColumns, Base):
    """One scan's set of files. It is the ledger of the walk and the counter of its tasks.

    Finished means: walked, and no live task. `files` counts every path that the walk met.
    """

    __tablename__ = "import_batch"
    __table_args__ = (
        CheckConstraint(one_of("status", BatchStatus), name="status"),
        CheckConstraint(one_of("mode", Mode), name="mode"),
        CheckConstraint(one_of("cause", Cause), name="cause"),
        # At most one walk for each root; a second wish finds this one.
        Index(
            "uq_import_batch_walk",
            "root_id",
            unique=True,
            postgresql_where=text("status IN ('pending', 'walking')"),
        ),
        Index(
            "ix_import_batch_live",
            "id",
            postgresql_where=text("status IN ('pending', 'walking', 'importing')"),
        ),
        {"postgresql_with": {"fillfactor": "50"}},
    )

    root_id: Mapped[int] = mapped_column(ForeignKey("root.id"))
    mode: Mapped[str]
    under: Mapped[bytes] = mapped_column(BYTEA, server_default=text("''::bytea"))
    """The part of the root to walk, relative; empty means all of it."""
    cause: Mapped[str] = mapped_column(server_default=text("'scan'"))
    title: Mapped[str | None]
    """What people see instead of the folder: who sent it, or from where."""
    status: Mapped[str] = mapped_column(server_default=text("'pending'"))
    interactive: Mapped[bool] = mapped_column(server_default=text("false"))
    """Someone waits for it (an upload): its tasks are served first."""
    interruptions: Mapped[int] = mapped_column(SmallInteger, server_default=text("0"))
    walked_at: Mapped[datetime | None]
    cursor: Mapped[bytes | None] = mapped_column(BYTEA)
    """Last directory whose files are all recorded; an interrupted walk goes on behind it."""
    served_at: Mapped[datetime | None]
    """When the drain last took tasks of this batch; batches take turns by it."""
    files: Mapped[int] = mapped_column(server_default=text("0"))
    imported: Mapped[int] = mapped_column(server_default=text("0"))
    duplicate: Mapped[int] = mapped_column(server_default=text("0"))
    unchanged: Mapped[int] = mapped_column(server_default=text("0"))
    failed: Mapped[int] = mapped_column(server_default=text("0"))
    skipped: Mapped[int] = mapped_column(server_default=text("0"))
    hashed: Mapped[int] = mapped_column(server_default=text("0"))
    decoded: Mapped[int] = mapped_column(server_default=text("0"))
    moved: Mapped[int] = mapped_column(server_default=text("0"))
    """Known files under another name, whose old one is gone."""
    returned: Mapped[int] = mapped_column(server_default=text("0"))
    """Files of assets that had been missing."""
    missing: Mapped[int] = mapped_column(server_default=text("0"))
    """Files that were known and not met; they are not among `files`."""
    confirms: Mapped[int | None]
    """The scan whose finding a person confirmed: what it missed may be gone."""


class TaskStatus(enum.StrEnum):
    """States of one file's way in."""

    PENDING = "pending"
    PROCESSING = "processing"
    COMPLETE = "complete"
    SKIPPED = "skipped"
    FAILED = "failed"


TASK_TRANSITIONS: dict[TaskStatus, frozenset[TaskStatus]] = {
    TaskStatus.PENDING: frozenset({TaskStatus.PROCESSING}),
    TaskStatus.PROCESSING: frozenset(
        {TaskStatus.PENDING, TaskStatus.COMPLETE, TaskStatus.SKIPPED, TaskStatus.FAILED}
    ),
    TaskStatus.COMPLETE: frozenset(),
    TaskStatus.SKIPPED: frozenset(),
    TaskStatus.FAILED: frozenset(),
}


class ImportTask(Keyed, ItemColumns, Base):
    """One file's way through an import."""

    __tablename__ = "import_task"
    __table_args__ = (
        CheckConstraint(one_of("status", TaskStatus), name="status"),
        # One live way in for each path, however many scans met it.
        Index(
            "uq_import_task_entry",
            "entry_id",
            unique=True,
            postgresql_where=text("status IN ('pending', 'processing')"),
        ),
        # `import --each` and the batch page.
        Index("ix_import_task_batch", "batch_id", "id"),
        # The batch page by outcome; a task that has not ended is not in it.
        Index(
            "ix_import_task_outcome",
            "batch_id",
            "outcome",
            "id",
            postgresql_where=text("outcome IS NOT NULL"),
        ),
        Index("ix_import_task_pending", "batch_id", "id", postgresql_where=text("status = 'pending'")),
        # When the next file that was just written may be read.
        Index(
            "ix_import_task_run_at",
            "run_at",
            postgresql_where=text("status = 'pending' AND run_at IS NOT NULL"),
        ),
        Index("ix_import_task_processing", "worker_id", postgresql_where=text("status = 'processing'")),
        # "Has this batch a live task?"
        Index(
            "ix_import_task_live",
            "batch_id",
            postgresql_where=text("status IN ('pending', 'processing')"),
        ),
        Index(
            "ix_import_task_finished",
            "finished_at",
            postgresql_where=text("status IN ('complete', 'skipped', 'failed')"),
        ),
        {"postgresql_with": {"fillfactor": "85"}},
    )

    batch_id: Mapped[int] = mapped_column(ForeignKey("import_batch.id", ondelete="CASCADE"))
    root_id: Mapped[int] = mapped_column(ForeignKey("root.id"))
    entry_id: Mapped[int] = mapped_column(ForeignKey("root_entry.id", ondelete="CASCADE"))
    status: Mapped[str] = mapped_column(server_default=text("'pending'"))
    outcome: Mapped[str | None]
    reason: Mapped[str | None]
    detail: Mapped[str | None]
    milliseconds: Mapped[int | None] = mapped_column(Integer)
    run_at: Mapped[datetime | None]
    """Not before this moment: the file may still be growing."""


class UploadStatus(enum.StrEnum):
    """States of one file on its way over the network."""

    RECEIVING = "receiving"
    RECEIVED = "received"
    ABANDONED = "abandoned"


UPLOAD_TRANSITIONS: dict[UploadStatus, frozenset[UploadStatus]] = {
    UploadStatus.RECEIVING: frozenset({UploadStatus.RECEIVED, UploadStatus.ABANDONED}),
    UploadStatus.RECEIVED: frozenset(),
    UploadStatus.ABANDONED: frozenset(),
}


class Upload(Keyed, Base):
    """One file that is sent to us; its bytes grow in the uploads folder until all are there."""

    __tablename__ = "upload"
    __table_args__ = (
        CheckConstraint(one_of("status", UploadStatus), name="status"),
        UniqueConstraint("token"),
        Index("ix_upload_batch", "batch_id", "id"),
        Index("ix_upload_entry", "entry_id", postgresql_where=text("entry_id IS NOT NULL")),
        Index("ix_upload_receiving", "touched_at", postgresql_where=text("status = 'receiving'")),
        {"postgresql_with": {"fillfactor": "70"}},
    )

    token: Mapped[str]
    """Random; names the upload in its address and its part file."""
    batch_id: Mapped[int] = mapped_column(ForeignKey("import_batch.id", ondelete="CASCADE"))
    user_id: Mapped[int | None]
    name: Mapped[str]
    """As the sender named it, with folders; shown, never used as a path."""
    size: Mapped[int]
    received: Mapped[int] = mapped_column(server_default=text("0"))
    status: Mapped[str] = mapped_column(server_default=text("'receiving'"))
    modified_ms: Mapped[int | None]
    """When the file was last changed on the sender's device, if it said so."""
    entry_id: Mapped[int | None] = mapped_column(ForeignKey("root_entry.id", ondelete="SET NULL"))
    made_at: Mapped[datetime] = mapped_column(server_default=text("now()"))
    touched_at: Mapped[datetime] = mapped_column(server_default=text("now()"))
