"""What is done to a library: actions and their undo, files that are sent, films that are made."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql


revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _actions()
    _items()
    _uploads()
    _roots_and_imports()
    _conversions()


def _actions() -> None:
    op.create_table(
        "operation",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column(
            "arguments",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("query", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=True),
        sa.Column("status", sa.Text(), server_default=sa.text("'pending'"), nullable=False),
        sa.Column("total", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("done", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("changed", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("interruptions", sa.SmallInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("undoes", sa.BigInteger(), nullable=True),
        sa.Column(
            "notes",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("cancel_asked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("queued_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("claim", sa.UUID(), nullable=True),
        sa.Column("worker_id", sa.BigInteger(), nullable=True),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "status IN ('pending', 'running', 'done', 'error', 'cancelled')", name=op.f("ck_operation_status")
        ),
        sa.ForeignKeyConstraint(
            ["undoes"], ["operation.id"], name=op.f("fk_operation_undoes"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_operation")),
        postgresql_with={"fillfactor": "70"},
    )
    op.create_index(
        "ix_operation_live",
        "operation",
        ["id"],
        unique=False,
        postgresql_where=sa.text("status IN ('pending', 'running')"),
    )
    op.create_index("ix_operation_recent", "operation", [sa.literal_column("id DESC")], unique=False)
    op.create_index(
        "uq_operation_undoing",
        "operation",
        ["undoes"],
        unique=True,
        postgresql_where=sa.text("undoes IS NOT NULL AND status IN ('pending', 'running')"),
    )
    op.create_index(
        "ix_operation_undoes",
        "operation",
        ["undoes"],
        unique=False,
        postgresql_where=sa.text("undoes IS NOT NULL"),
    )


def _items() -> None:
    op.create_table(
        "operation_item",
        sa.Column("operation_id", sa.BigInteger(), nullable=False),
        sa.Column("asset_id", sa.BigInteger(), nullable=False),
        sa.Column("changed", sa.Boolean(), nullable=True),
        sa.Column("before", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.ForeignKeyConstraint(
            ["operation_id"],
            ["operation.id"],
            name=op.f("fk_operation_item_operation_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("operation_id", "asset_id", name=op.f("pk_operation_item")),
    )
    op.create_index(
        "ix_operation_item_waiting",
        "operation_item",
        ["operation_id", "asset_id"],
        unique=False,
        postgresql_where=sa.text("changed IS NULL"),
    )
    op.create_index(
        "ix_operation_item_changed",
        "operation_item",
        ["asset_id"],
        unique=False,
        postgresql_where=sa.text("changed"),
    )
    op.create_table(
        "operation_gone",
        sa.Column("operation_id", sa.BigInteger(), nullable=False),
        sa.Column("purge_id", sa.BigInteger(), nullable=False),
        sa.Column("assets", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["operation_id"],
            ["operation.id"],
            name=op.f("fk_operation_gone_operation_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("operation_id", "purge_id", name=op.f("pk_operation_gone")),
    )


def _uploads() -> None:
    op.create_table(
        "upload",
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("batch_id", sa.BigInteger(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("received", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("status", sa.Text(), server_default=sa.text("'receiving'"), nullable=False),
        sa.Column("modified_ms", sa.BigInteger(), nullable=True),
        sa.Column("entry_id", sa.BigInteger(), nullable=True),
        sa.Column("made_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("touched_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.CheckConstraint("status IN ('receiving', 'received', 'abandoned')", name=op.f("ck_upload_status")),
        sa.ForeignKeyConstraint(
            ["batch_id"], ["import_batch.id"], name=op.f("fk_upload_batch_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["entry_id"], ["root_entry.id"], name=op.f("fk_upload_entry_id"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_upload")),
        sa.UniqueConstraint("token", name=op.f("uq_upload_token")),
        postgresql_with={"fillfactor": "70"},
    )
    op.create_index("ix_upload_batch", "upload", ["batch_id", "id"], unique=False)
    op.create_index(
        "ix_upload_entry",
        "upload",
        ["entry_id"],
        unique=False,
        postgresql_where=sa.text("entry_id IS NOT NULL"),
    )
    op.create_index(
        "ix_upload_receiving",
        "upload",
        ["touched_at"],
        unique=False,
        postgresql_where=sa.text("status = 'receiving'"),
    )


def _roots_and_imports() -> None:
    op.add_column("root", sa.Column("purpose", sa.Text(), server_default=sa.text("'folder'"), nullable=False))
    op.create_index(
        "uq_root_uploads", "root", ["purpose"], unique=True, postgresql_where=sa.text("purpose = 'uploads'")
    )
    op.add_column("root", sa.Column("scan_hour", sa.SmallInteger(), nullable=True))
    op.add_column("root", sa.Column("next_scan_at", sa.DateTime(timezone=True), nullable=True))
    op.create_check_constraint(op.f("ck_root_scan_hour"), "root", "scan_hour BETWEEN 0 AND 23")
    op.add_column(
        "import_batch", sa.Column("cause", sa.Text(), server_default=sa.text("'scan'"), nullable=False)
    )
    op.create_check_constraint(
        op.f("ck_import_batch_cause"), "import_batch", "cause IN ('scan', 'retry', 'upload')"
    )
    op.add_column("import_batch", sa.Column("title", sa.Text(), nullable=True))
    op.create_index(
        "ix_root_entry_ignored", "root_entry", ["id"], unique=False, postgresql_where=sa.text("ignored")
    )
    op.create_index(
        "ix_import_task_outcome",
        "import_task",
        ["batch_id", "outcome", "id"],
        unique=False,
        postgresql_where=sa.text("outcome IS NOT NULL"),
    )
    op.create_check_constraint(op.f("ck_root_purpose"), "root", "purpose IN ('folder', 'uploads')")


def _conversions() -> None:
    op.add_column("rendition", sa.Column("used_at", sa.DateTime(timezone=True), nullable=True))
    op.create_index(
        "ix_rendition_on_demand",
        "rendition",
        ["used_at", "id"],
        unique=False,
        postgresql_where=sa.text("name IN ('full', 'play')"),
    )
    op.create_table(
        "conversion",
        sa.Column("asset_id", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Text(), server_default=sa.text("'pending'"), nullable=False),
        sa.Column("wanted_until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("share", sa.Float(), server_default=sa.text("0"), nullable=False),
        sa.Column("made_s", sa.Float(), server_default=sa.text("0"), nullable=False),
        sa.Column("took_s", sa.Float(), server_default=sa.text("0"), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=True),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("queued_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deliveries", sa.SmallInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("interruptions", sa.SmallInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("claim", sa.UUID(), nullable=True),
        sa.Column("worker_id", sa.BigInteger(), nullable=True),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "status IN ('pending', 'processing', 'complete', 'failed')", name=op.f("ck_conversion_status")
        ),
        sa.ForeignKeyConstraint(
            ["asset_id"], ["asset.id"], name=op.f("fk_conversion_asset_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_conversion")),
        sa.UniqueConstraint("asset_id", name=op.f("uq_conversion_asset_id")),
    )
    for name, column, condition in (
        ("pending", "id", "status = 'pending'"),
        ("processing", "worker_id", "status = 'processing'"),
        ("finished", "finished_at", "finished_at IS NOT NULL"),
    ):
        op.create_index(
            f"ix_conversion_{name}", "conversion", [column], unique=False, postgresql_where=sa.text(condition)
        )
