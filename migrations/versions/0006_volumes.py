"""Volumes and their pages."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql


revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _volumes()
    _pages()
    _places()


def _volumes() -> None:
    op.create_table(
        "volume",
        sa.Column("asset_id", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Text(), server_default=sa.text("'pending'"), nullable=False),
        sa.Column("priority", sa.SmallInteger(), server_default=sa.text("5"), nullable=False),
        sa.Column("right_to_left", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("version_of", sa.BigInteger(), nullable=True),
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
            "status IN ('pending', 'processing', 'complete', 'failed')", name=op.f("ck_volume_status")
        ),
        sa.ForeignKeyConstraint(
            ["asset_id"], ["asset.id"], name=op.f("fk_volume_asset_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["version_of"], ["asset.id"], name=op.f("fk_volume_version_of"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_volume")),
        sa.UniqueConstraint("asset_id", name=op.f("uq_volume_asset_id")),
    )
    pending = sa.text("status = 'pending'")
    processing = sa.text("status = 'processing'")
    later = sa.text("version_of IS NOT NULL")
    op.create_index("ix_volume_pending", "volume", ["priority", "id"], postgresql_where=pending)
    op.create_index("ix_volume_processing", "volume", ["worker_id"], postgresql_where=processing)
    op.create_index("ix_volume_version_of", "volume", ["version_of"], postgresql_where=later)


def _pages() -> None:
    op.create_table(
        "volume_page",
        sa.Column("volume_id", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", postgresql.BYTEA(), nullable=False),
        sa.Column("hops", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("mime", sa.Text(), nullable=False),
        sa.Column("asset_id", sa.BigInteger(), nullable=True),
        sa.Column("status", sa.Text(), server_default=sa.text("'pending'"), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=True),
        sa.CheckConstraint("status IN ('pending', 'complete', 'failed')", name=op.f("ck_volume_page_status")),
        sa.ForeignKeyConstraint(
            ["volume_id"], ["asset.id"], name=op.f("fk_volume_page_volume_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["asset_id"], ["asset.id"], name=op.f("fk_volume_page_asset_id"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("volume_id", "position", name=op.f("pk_volume_page")),
    )
    known = sa.text("asset_id IS NOT NULL")
    op.create_index("ix_volume_page_asset", "volume_page", ["asset_id"], postgresql_where=known)


def _places() -> None:
    op.create_table(
        "reading_place",
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("volume_id", sa.BigInteger(), nullable=False),
        sa.Column("page", sa.Integer(), nullable=False),
        sa.Column("right_to_left", sa.Boolean(), nullable=True),
        sa.Column("seen_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_reading_place_user_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["volume_id"], ["asset.id"], name=op.f("fk_reading_place_volume_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "volume_id", name=op.f("pk_reading_place")),
    )
    op.create_index("ix_reading_place_volume", "reading_place", ["volume_id"])
