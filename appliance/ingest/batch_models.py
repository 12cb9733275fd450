"""The batches and tasks that bring files in, and the files that are sent."""

from __future__ import annotations

import enum
from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index, Integer, SmallInteger, UniqueConstraint, text
from sqlalchemy.dialects.postgresql import BYTEA
from sqlalchemy.orm import Mapped, mapped_column

from appliance.core.columns import Base, ItemColumns, Keyed, RunColumns, one_of
from appliance.ingest.models import Mode


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
    stayed: Mapped[int] = mapped_column(server_default=text("0"))
    """Files that were stored and could not be taken out of their folder."""
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
