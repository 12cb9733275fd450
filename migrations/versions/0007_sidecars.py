"""Metadata and sidecars."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql


revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _sidecars()
    _words()
    _rejections()
    # They were passed over so far: the next scan finds them changed and reads them.
    op.execute("UPDATE root_entry SET mtime_ns = -1 WHERE outcome = 'skipped' AND reason = 'sidecar'")


def _sidecars() -> None:
    op.create_table(
        "sidecar",
        sa.Column("entry_id", sa.BigInteger(), nullable=False),
        sa.Column("root_id", sa.BigInteger(), nullable=False),
        sa.Column("about", postgresql.BYTEA(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("sha256", postgresql.BYTEA(), nullable=False),
        sa.Column("said", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("read_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.CheckConstraint("kind IN ('xmp', 'json', 'txt')", name=op.f("ck_sidecar_kind")),
        sa.ForeignKeyConstraint(
            ["entry_id"], ["root_entry.id"], name=op.f("fk_sidecar_entry_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["root_id"], ["root.id"], name=op.f("fk_sidecar_root_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sidecar")),
        sa.UniqueConstraint("entry_id", name=op.f("uq_sidecar_entry_id")),
    )
    op.create_index("ix_sidecar_about", "sidecar", ["root_id", "about"], unique=False)


def _words() -> None:
    op.create_table(
        "asset_words",
        sa.Column("asset_id", sa.BigInteger(), nullable=False),
        sa.Column("own", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("given", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.ForeignKeyConstraint(
            ["asset_id"], ["asset.id"], name=op.f("fk_asset_words_asset_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("asset_id", name=op.f("pk_asset_words")),
    )


def _rejections() -> None:
    op.create_table(
        "tag_rejection",
        sa.Column("asset_id", sa.BigInteger(), nullable=False),
        sa.Column("tag_id", sa.BigInteger(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=True),
        sa.Column("rejected_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["asset_id"], ["asset.id"], name=op.f("fk_tag_rejection_asset_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["tag_id"], ["tag.id"], name=op.f("fk_tag_rejection_tag_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("asset_id", "tag_id", name=op.f("pk_tag_rejection")),
    )
    op.create_index("ix_tag_rejection_tag", "tag_rejection", ["tag_id"], unique=False)
