"""Changes of many assets are counted without joining what was with what is."""

from __future__ import annotations

from alembic import op


revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

VISIBLE = "state IN ('inbox', 'kept') AND NOT private"


def upgrade() -> None:
    # The planner takes the rows of a statement for a single one and joins them each with each: a thousand
    # assets at once cost half a second. Sums and differences of sets have no such plan.
    op.execute(f"""
CREATE OR REPLACE FUNCTION asset_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO month_delta (month, assets)
    SELECT month, sum(n) FROM (
        SELECT date_trunc('month', effective_at)::date AS month, -1 AS n FROM former WHERE {VISIBLE}
        UNION ALL
        SELECT date_trunc('month', effective_at)::date, 1 FROM fresh WHERE {VISIBLE}
    ) moved GROUP BY month HAVING sum(n) <> 0;
    INSERT INTO tag_delta (tag_id, uses)
    SELECT t.tag_id, sum(seen.change) FROM (
        SELECT id, sum(n) AS change FROM (
            SELECT id, -1 AS n FROM former WHERE {VISIBLE} UNION ALL SELECT id, 1 FROM fresh WHERE {VISIBLE}
        ) sides GROUP BY id HAVING sum(n) <> 0
    ) seen JOIN asset_tag t ON t.asset_id = seen.id GROUP BY t.tag_id;
    UPDATE asset_tag t SET effective_at = n.effective_at
    FROM (SELECT id, effective_at FROM fresh EXCEPT SELECT id, effective_at FROM former) n
    WHERE t.asset_id = n.id;
    RETURN NULL;
END $$""")
