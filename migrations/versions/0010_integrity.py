"""Files that are checked again and again, and where passes over the collection stand."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op


revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    # Its import has read and hashed a file: that was its first check.
    op.add_column(
        "asset_file", sa.Column("verified_at", _INSTANT, server_default=sa.text("now()"), nullable=False)
    )
    op.execute("UPDATE asset_file SET verified_at = added_at")
    op.add_column("asset_file", sa.Column("fault", sa.Text()))
    op.add_column("asset_file", sa.Column("fault_detail", sa.Text()))
    op.add_column("asset_file", sa.Column("fault_at", _INSTANT))
    op.create_check_constraint(
        op.f("ck_asset_file_fault"),
        "asset_file",
        "fault IN ('altered', 'missing', 'unreadable', 'undecodable')",
    )
    op.create_index(
        "ix_asset_file_verified",
        "asset_file",
        [sa.literal_column("coalesce(root_id, 0::bigint)"), "verified_at", "id"],
    )
    op.create_index(
        "ix_asset_file_fault", "asset_file", ["id"], postgresql_where=sa.text("fault IS NOT NULL")
    )
    op.create_table(
        "backfill",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("began_at", _INSTANT, server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_backfill")),
    )
