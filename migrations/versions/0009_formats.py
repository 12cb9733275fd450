"""Pairs of pictures and films."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op


revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # The mark that a phone writes into both: a few stills among many bear one.
    op.create_index(
        "ix_asset_live",
        "asset",
        [sa.literal_column("(facts ->> 'live_id')")],
        postgresql_where=sa.text("facts ->> 'live_id' IS NOT NULL"),
    )
    op.create_table(
        "live_pair",
        sa.Column("still_id", sa.BigInteger(), nullable=False),
        sa.Column("film_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["still_id"], ["asset.id"], name=op.f("fk_live_pair_still_id_asset"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["film_id"], ["asset.id"], name=op.f("fk_live_pair_film_id_asset"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("still_id", name=op.f("pk_live_pair")),
    )
    op.create_index("ix_live_pair_film", "live_pair", ["film_id"])
    _triggers()


def _triggers() -> None:
    # Whoever throws a still away, by whatever way, has not thrown its film away: it is shown again, as
    # private and as archived as the still was, and goes back inside when the still comes back.
    op.execute("""
CREATE FUNCTION still_went() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    -- An update of nothing would still wake the triggers that count, once for each row.
    IF NOT EXISTS (SELECT FROM live_pair WHERE still_id = NEW.id) THEN RETURN NULL; END IF;
    UPDATE asset f SET
        private = f.private OR OLD.private,
        state = CASE WHEN f.state <> 'inside' THEN f.state
                     WHEN OLD.state = 'archived' THEN 'archived' ELSE 'kept' END,
        trashed_from = CASE WHEN f.trashed_from = 'inside' THEN 'kept' ELSE f.trashed_from END
    FROM live_pair p
    WHERE p.still_id = NEW.id AND f.id = p.film_id AND (f.state = 'inside' OR f.trashed_from = 'inside')
      AND NOT EXISTS (SELECT 1 FROM live_pair o JOIN asset s ON s.id = o.still_id
                      WHERE o.film_id = f.id AND s.state <> 'trashed');
    RETURN NULL;
END $$""")
    op.execute("""
CREATE FUNCTION film_untouched(f asset) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT f.state IN ('inbox', 'kept', 'archived') AND f.rating = 0 AND NOT f.favourite AND f.note IS NULL
       AND f.turn = 0 AND f.date_source <> 'human'
$$""")
    op.execute("""
CREATE FUNCTION still_came_back() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF NOT EXISTS (SELECT FROM live_pair WHERE still_id = NEW.id) THEN RETURN NULL; END IF;
    UPDATE asset f SET state = 'inside'
    FROM live_pair p WHERE p.still_id = NEW.id AND f.id = p.film_id AND film_untouched(f);
    RETURN NULL;
END $$""")
    op.execute(
        "CREATE TRIGGER still_went AFTER UPDATE OF state ON asset FOR EACH ROW"
        " WHEN (NEW.state = 'trashed' AND OLD.state <> 'trashed') EXECUTE FUNCTION still_went()"
    )
    op.execute(
        "CREATE TRIGGER still_came_back AFTER UPDATE OF state ON asset FOR EACH ROW"
        " WHEN (OLD.state = 'trashed' AND NEW.state <> 'trashed') EXECUTE FUNCTION still_came_back()"
    )
