"""Volumes take turns by when they last had one, and films that a person named stay where they are."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op


revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_index("ix_volume_pending", "volume")
    op.create_index(
        "ix_volume_pending",
        "volume",
        ["priority", "queued_at", "id"],
        postgresql_where=sa.text("status = 'pending'"),
    )
    # What its own words gave it is nobody's care; a tag or title of a person is.
    op.execute("""
CREATE OR REPLACE FUNCTION film_untouched(f asset) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT f.state IN ('inbox', 'kept', 'archived') AND f.rating = 0 AND NOT f.favourite AND f.note IS NULL
       AND f.turn = 0 AND f.date_source <> 'human'
       AND (f.title IS NULL
            OR f.title = (SELECT w.given ->> 'title' FROM asset_words w WHERE w.asset_id = f.id))
       AND NOT EXISTS (SELECT FROM asset_tag t WHERE t.asset_id = f.id AND t.by = 'human')
$$""")
