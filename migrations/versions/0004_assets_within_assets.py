"""Assets within assets: volumes, and what is shown only inside another asset."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op


revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # What lives only within another asset (a page, the film of a Live Photo) is not on the timeline, whose
    # predicate names the states that are.
    op.drop_constraint(op.f("ck_asset_state"), "asset")
    op.create_check_constraint(
        op.f("ck_asset_state"), "asset", "state IN ('inbox', 'kept', 'archived', 'trashed', 'inside')"
    )
    op.drop_constraint(op.f("ck_asset_kind"), "asset")
    op.create_check_constraint(
        op.f("ck_asset_kind"), "asset", "kind IN ('still', 'animation', 'video', 'volume')"
    )
    op.create_index(
        "ix_asset_inside",
        "asset",
        [sa.literal_column("effective_at DESC"), sa.literal_column("id DESC")],
        postgresql_where=sa.text("state = 'inside'"),
    )
