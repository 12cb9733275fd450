"""A gallery to live with."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql


revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

VISIBLE = "state IN ('inbox', 'kept') AND NOT private"


def upgrade() -> None:
    _months()
    _tags()
    _other_names()
    _assets()
    _orders_and_words()
    _tag_memories()
    _triggers()


def _months() -> None:
    op.create_table(
        "month_count",
        sa.Column("month", sa.Date(), nullable=False),
        sa.Column("assets", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("month", name=op.f("pk_month_count")),
    )
    op.create_table(
        "month_delta",
        sa.Column("month", sa.Date(), nullable=False),
        sa.Column("assets", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_month_delta")),
    )


def _tags() -> None:
    op.create_table(
        "tag",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("name_key", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), server_default=sa.text("'general'"), nullable=False),
        sa.Column("fandom_id", sa.BigInteger(), nullable=True),
        sa.Column("uses", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.CheckConstraint(
            "fandom_id IS NULL OR kind IN ('character', 'series')", name=op.f("ck_tag_fandom")
        ),
        sa.CheckConstraint(
            "kind IN ('general', 'artist', 'character', 'fandom', 'series', 'meta', 'rating')",
            name=op.f("ck_tag_kind"),
        ),
        sa.ForeignKeyConstraint(["fandom_id"], ["tag.id"], name=op.f("fk_tag_fandom_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tag")),
        sa.UniqueConstraint(
            "name_key",
            "kind",
            "fandom_id",
            name=op.f("uq_tag_name_key_kind_fandom_id"),
            postgresql_nulls_not_distinct=True,
        ),
        postgresql_with={"fillfactor": "80"},
    )
    op.create_index(
        "ix_tag_fandom", "tag", ["fandom_id"], unique=False, postgresql_where=sa.text("fandom_id IS NOT NULL")
    )
    op.create_index(
        "ix_tag_prefix",
        "tag",
        ["name_key"],
        unique=False,
        postgresql_ops={"name_key": "text_pattern_ops"},
    )
    op.create_index("ix_tag_uses", "tag", [sa.literal_column("uses DESC"), "id"], unique=False)
    op.create_table(
        "tag_delta",
        sa.Column("tag_id", sa.BigInteger(), nullable=False),
        sa.Column("uses", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tag_delta")),
    )
    op.create_table(
        "asset_tag",
        sa.Column("asset_id", sa.BigInteger(), nullable=False),
        sa.Column("tag_id", sa.BigInteger(), nullable=False),
        sa.Column("effective_at", sa.DateTime(), nullable=False),
        sa.Column("by", sa.Text(), server_default=sa.text("'human'"), nullable=False),
        sa.Column("model_id", sa.BigInteger(), nullable=True),
        sa.Column("score", sa.REAL(), nullable=True),
        sa.Column("user_id", sa.BigInteger(), nullable=True),
        sa.Column("added_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "by IN ('human', 'model', 'rule', 'source', 'sidecar')", name=op.f("ck_asset_tag_by")
        ),
        sa.ForeignKeyConstraint(
            ["asset_id"], ["asset.id"], name=op.f("fk_asset_tag_asset_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["tag_id"], ["tag.id"], name=op.f("fk_asset_tag_tag_id")),
        sa.PrimaryKeyConstraint("asset_id", "tag_id", name=op.f("pk_asset_tag")),
    )
    op.create_index(
        "ix_asset_tag_timeline",
        "asset_tag",
        ["tag_id", sa.literal_column("effective_at DESC"), sa.literal_column("asset_id DESC")],
        unique=False,
    )


def _other_names() -> None:
    op.create_table(
        "tag_alias",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("name_key", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("fandom_id", sa.BigInteger(), nullable=True),
        sa.Column("tag_id", sa.BigInteger(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.CheckConstraint(
            "kind IN ('general', 'artist', 'character', 'fandom', 'series', 'meta', 'rating')",
            name=op.f("ck_tag_alias_kind"),
        ),
        sa.ForeignKeyConstraint(["tag_id"], ["tag.id"], name=op.f("fk_tag_alias_tag_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tag_alias")),
        sa.UniqueConstraint(
            "name_key",
            "kind",
            "fandom_id",
            name=op.f("uq_tag_alias_name_key_kind_fandom_id"),
            postgresql_nulls_not_distinct=True,
        ),
    )
    op.create_index(
        "ix_tag_alias_prefix",
        "tag_alias",
        ["name_key"],
        unique=False,
        postgresql_ops={"name_key": "text_pattern_ops"},
    )
    op.create_index("ix_tag_alias_tag", "tag_alias", ["tag_id"], unique=False)


def _assets() -> None:
    op.add_column("asset", sa.Column("note", sa.Text(), nullable=True))
    op.add_column(
        "asset", sa.Column("private", sa.Boolean(), server_default=sa.text("false"), nullable=False)
    )
    op.add_column("asset", sa.Column("turn", sa.SmallInteger(), server_default=sa.text("0"), nullable=False))
    op.add_column(
        "asset",
        sa.Column(
            "shuffle", sa.Integer(), sa.Computed("hashint8(id) & 2147483647", persisted=True), nullable=False
        ),
    )
    op.add_column("asset", sa.Column("trashed_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("asset", sa.Column("trashed_from", sa.Text(), nullable=True))
    op.create_check_constraint(op.f("ck_asset_turn"), "asset", "turn IN (0, 90, 180, 270)")
    op.drop_constraint(op.f("ck_asset_date_source"), "asset")
    op.create_check_constraint(
        op.f("ck_asset_date_source"),
        "asset",
        "date_source IN ('exif', 'container', 'sidecar', 'name', 'mtime', 'import', 'human')",
    )
    # What is private leaves the timeline, so its indexes leave it out.
    op.drop_index("ix_asset_timeline", "asset")
    op.drop_index("ix_asset_arrival", "asset")
    op.create_index(
        "ix_asset_timeline",
        "asset",
        [sa.literal_column("effective_at DESC"), sa.literal_column("id DESC")],
        postgresql_where=sa.text(VISIBLE),
    )
    op.create_index(
        "ix_asset_arrival", "asset", [sa.literal_column("id DESC")], postgresql_where=sa.text(VISIBLE)
    )
    op.execute(
        "INSERT INTO month_count (month, assets) SELECT date_trunc('month', effective_at)::date, count(*)"
        f" FROM asset WHERE {VISIBLE} GROUP BY 1"
    )


def _tag_memories() -> None:
    op.create_table(
        "tag_former",
        sa.Column("former_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("tag_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tag_id"], ["tag.id"], name=op.f("fk_tag_former_tag_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("former_id", name=op.f("pk_tag_former")),
    )
    op.create_index("ix_tag_former_tag", "tag_former", ["tag_id"], unique=False)
    op.create_table(
        "tag_recent",
        sa.Column("user_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("tag_id", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["tag_id"], ["tag.id"], name=op.f("fk_tag_recent_tag_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "tag_id", name=op.f("pk_tag_recent")),
    )
    op.create_index(
        "ix_tag_recent_user", "tag_recent", ["user_id", sa.literal_column("used_at DESC")], unique=False
    )
    op.create_index("ix_tag_recent_tag", "tag_recent", ["tag_id"], unique=False)
    op.create_table(
        "tag_merge",
        sa.Column("source_id", sa.BigInteger(), nullable=False),
        sa.Column("target_id", sa.BigInteger(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=True),
        sa.Column("status", sa.Text(), server_default=sa.text("'pending'"), nullable=False),
        sa.Column("moved", sa.BigInteger(), nullable=True),
        sa.Column("shared", sa.BigInteger(), nullable=True),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("queued_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("claim", sa.UUID(), nullable=True),
        sa.Column("worker_id", sa.BigInteger(), nullable=True),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "status IN ('pending', 'running', 'done', 'error', 'cancelled')",
            name=op.f("ck_tag_merge_status"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tag_merge")),
    )
    op.create_index(
        "uq_tag_merge_source",
        "tag_merge",
        ["source_id"],
        unique=True,
        postgresql_where=sa.text("status IN ('pending', 'running')"),
    )
    op.add_column("asset", sa.Column("own_date", postgresql.JSONB(astext_type=sa.Text()), nullable=True))


def _orders_and_words() -> None:
    op.create_index(
        "ix_asset_archived",
        "asset",
        [sa.literal_column("effective_at DESC"), sa.literal_column("id DESC")],
        unique=False,
        postgresql_where=sa.text("state = 'archived'"),
    )
    op.create_index(
        "ix_asset_favourite",
        "asset",
        [sa.literal_column("effective_at DESC"), sa.literal_column("id DESC")],
        unique=False,
        postgresql_where=sa.text("favourite AND state IN ('inbox', 'kept') AND NOT private"),
    )
    op.create_index(
        "ix_asset_private",
        "asset",
        [sa.literal_column("effective_at DESC"), sa.literal_column("id DESC")],
        unique=False,
        postgresql_where=sa.text("state IN ('inbox', 'kept') AND private"),
    )
    op.create_index(
        "ix_asset_rating",
        "asset",
        [sa.literal_column("rating DESC"), sa.literal_column("id DESC")],
        unique=False,
        postgresql_where=sa.text("state IN ('inbox', 'kept') AND NOT private"),
    )
    op.create_index(
        "ix_asset_shuffle",
        "asset",
        ["shuffle", "id"],
        unique=False,
        postgresql_where=sa.text("state IN ('inbox', 'kept') AND NOT private"),
    )
    op.create_index(
        "ix_asset_size",
        "asset",
        [sa.literal_column("size DESC"), sa.literal_column("id DESC")],
        unique=False,
        postgresql_where=sa.text("state IN ('inbox', 'kept') AND NOT private"),
    )
    op.create_index(
        "ix_asset_trashed",
        "asset",
        [sa.literal_column("effective_at DESC"), sa.literal_column("id DESC")],
        unique=False,
        postgresql_where=sa.text("state = 'trashed'"),
    )
    op.create_index(
        "ix_asset_trashed_at",
        "asset",
        ["trashed_at", "id"],
        unique=False,
        postgresql_where=sa.text("state = 'trashed'"),
    )
    op.create_index(
        "ix_asset_duration",
        "asset",
        [sa.literal_column("coalesce(duration_ms, 0::bigint) DESC"), sa.literal_column("id DESC")],
        unique=False,
        postgresql_where=sa.text("state IN ('inbox', 'kept') AND NOT private"),
    )
    for written in ("title", "note"):
        op.create_index(
            f"ix_asset_{written}",
            "asset",
            [written],
            unique=False,
            postgresql_using="gin",
            postgresql_ops={written: "gin_trgm_ops"},
            postgresql_where=sa.text(f"{written} IS NOT NULL"),
        )
    op.create_index(
        "ix_provenance_name",
        "provenance",
        [sa.literal_column("lower(encode(path, 'escape')) gin_trgm_ops")],
        unique=False,
        postgresql_using="gin",
    )
    op.create_index(
        "ix_tag_alike",
        "tag",
        ["name_key"],
        unique=False,
        postgresql_using="gin",
        postgresql_ops={"name_key": "gin_trgm_ops"},
    )


def _triggers() -> None:
    # Counters by construction: whoever changes assets or tags cannot forget them. Deltas are appended and
    # folded by a steward, so that a bulk action and an import never wait for the row of one month or tag.
    op.execute(f"""
CREATE FUNCTION asset_came() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO month_delta (month, assets)
    SELECT date_trunc('month', effective_at)::date, count(*) FROM fresh WHERE {VISIBLE} GROUP BY 1;
    RETURN NULL;
END $$""")
    op.execute("""
CREATE FUNCTION asset_goes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    -- Before its tags go with it, and by row, since afterwards nobody knows which it had.
    IF OLD.state IN ('inbox', 'kept') AND NOT OLD.private THEN
        INSERT INTO month_delta (month, assets) VALUES (date_trunc('month', OLD.effective_at)::date, -1);
        INSERT INTO tag_delta (tag_id, uses) SELECT tag_id, -1 FROM asset_tag WHERE asset_id = OLD.id;
    END IF;
    RETURN OLD;
END $$""")
    op.execute(f"""
CREATE FUNCTION asset_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO month_delta (month, assets)
    SELECT month, sum(n) FROM (
        SELECT date_trunc('month', effective_at)::date AS month, -1 AS n FROM former WHERE {VISIBLE}
        UNION ALL
        SELECT date_trunc('month', effective_at)::date, 1 FROM fresh WHERE {VISIBLE}
    ) moved GROUP BY month HAVING sum(n) <> 0;
    INSERT INTO tag_delta (tag_id, uses)
    SELECT t.tag_id, sum(CASE WHEN seen.now THEN 1 ELSE -1 END) FROM (
        SELECT n.id, n.state IN ('inbox', 'kept') AND NOT n.private AS now,
               o.state IN ('inbox', 'kept') AND NOT o.private AS before
        FROM former o JOIN fresh n USING (id)
    ) seen JOIN asset_tag t ON t.asset_id = seen.id WHERE seen.now <> seen.before GROUP BY t.tag_id;
    UPDATE asset_tag t SET effective_at = n.effective_at
    FROM former o JOIN fresh n USING (id)
    WHERE o.effective_at <> n.effective_at AND t.asset_id = n.id;
    RETURN NULL;
END $$""")
    for name, rows, sign in (("tag_came", "fresh", ""), ("tag_went", "former", "-")):
        op.execute(f"""
CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO tag_delta (tag_id, uses)
    SELECT t.tag_id, {sign}count(*) FROM {rows} t JOIN asset ON asset.id = t.asset_id
    WHERE {VISIBLE} GROUP BY t.tag_id;
    RETURN NULL;
END $$""")
    # Whoever sets a date, one asset or thousands: what the file says is kept, and forgotten on the way back.
    op.execute("""
CREATE FUNCTION asset_dated() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    NEW.own_date = CASE WHEN NEW.date_source = 'human' THEN jsonb_build_object(
        'taken_at', OLD.taken_at, 'effective_at', OLD.effective_at, 'source', OLD.date_source) END;
    RETURN NEW;
END $$""")
    op.execute(
        "CREATE TRIGGER asset_dated BEFORE UPDATE OF date_source ON asset FOR EACH ROW"
        " WHEN (NEW.date_source <> OLD.date_source) EXECUTE FUNCTION asset_dated()"
    )
    for statement in (
        "asset_came AFTER INSERT ON asset REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT",
        "asset_goes BEFORE DELETE ON asset FOR EACH ROW",
        "asset_changed AFTER UPDATE ON asset REFERENCING OLD TABLE AS former NEW TABLE AS fresh FOR EACH STATEMENT",  # noqa: E501
        "tag_came AFTER INSERT ON asset_tag REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT",
        "tag_went AFTER DELETE ON asset_tag REFERENCING OLD TABLE AS former FOR EACH STATEMENT",
    ):
        op.execute(f"CREATE TRIGGER {statement} EXECUTE FUNCTION {statement.partition(' ')[0]}()")
