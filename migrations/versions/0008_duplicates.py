"""Duplicates and tombstones."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op


revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_INSTANT = sa.DateTime(timezone=True)
_PLACE = "CASE state WHEN 'trashed' THEN 'deleted' WHEN 'inside' THEN 'inside' ELSE 'open' END"


def upgrade() -> None:
    """Tables, the rule of which pairs wait for a decision, and the paths that were deleted before."""
    _fingerprints()
    _tombstones()
    _hashes()
    _pairs()
    _rules()
    _deleted_before()


def _id() -> sa.Column[int]:
    return sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False)


def _moment(name: str) -> sa.Column[object]:
    return sa.Column(name, _INSTANT, server_default=sa.text("now()"), nullable=False)


def _asset(name: str, table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        [name], ["asset.id"], name=op.f(f"fk_{table}_{name}_asset"), ondelete="CASCADE"
    )


def _fingerprints() -> None:
    op.create_table(
        "fingerprint",
        sa.Column("asset_id", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Text(), server_default=sa.text("'pending'"), nullable=False),
        sa.Column("version", sa.SmallInteger(), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("detail", sa.Text()),
        _id(),
        _moment("queued_at"),
        sa.Column("started_at", _INSTANT),
        sa.Column("finished_at", _INSTANT),
        sa.Column("deliveries", sa.SmallInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("interruptions", sa.SmallInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("claim", sa.UUID()),
        sa.Column("worker_id", sa.BigInteger()),
        sa.Column("claimed_at", _INSTANT),
        sa.CheckConstraint(
            "status IN ('pending', 'processing', 'complete', 'failed')", name=op.f("ck_fingerprint_status")
        ),
        _asset("asset_id", "fingerprint"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_fingerprint")),
        sa.UniqueConstraint("asset_id", name=op.f("uq_fingerprint_asset_id")),
        postgresql_with={"fillfactor": "85"},
    )
    op.create_index(
        "ix_fingerprint_pending", "fingerprint", ["id"], postgresql_where=sa.text("status = 'pending'")
    )
    op.create_index(
        "ix_fingerprint_processing",
        "fingerprint",
        ["worker_id"],
        postgresql_where=sa.text("status = 'processing'"),
    )


def _tombstones() -> None:
    op.create_table(
        "tombstone",
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("height", sa.Integer(), nullable=False),
        sa.Column("duration_ms", sa.BigInteger()),
        sa.Column("taken_at", sa.DateTime(timezone=False)),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("user_id", sa.BigInteger()),
        _moment("deleted_at"),
        _id(),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tombstone")),
        sa.UniqueConstraint("sha256", "size", name=op.f("uq_tombstone_sha256_size")),
    )
    op.create_index(
        "ix_tombstone_film", "tombstone", ["duration_ms"], postgresql_where=sa.text("kind = 'video'")
    )
    op.create_index(
        "ix_asset_trashed_film",
        "asset",
        ["duration_ms"],
        postgresql_where=sa.text("state = 'trashed' AND kind = 'video'"),
    )
    op.create_table(
        "welcome",
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("user_id", sa.BigInteger()),
        _moment("said_at"),
        sa.PrimaryKeyConstraint("sha256", "size", name=op.f("pk_welcome")),
    )


def _hashes() -> None:
    bands = [
        sa.Column(
            f"band{n}",
            sa.SmallInteger(),
            sa.Computed(f"(((hash >> {16 * n}) & 65535) - 32768)::smallint", persisted=True),
            nullable=False,
        )
        for n in range(4)
    ]
    op.create_table(
        "phash",
        sa.Column("asset_id", sa.BigInteger()),
        sa.Column("tombstone_id", sa.BigInteger()),
        sa.Column("at_ms", sa.Integer()),
        sa.Column("hash", sa.BigInteger(), nullable=False),
        sa.Column("mirror", sa.BigInteger(), nullable=False),
        sa.Column("reach", sa.SmallInteger(), nullable=False),
        sa.Column("place", sa.Text(), server_default=sa.text("'open'"), nullable=False),
        sa.Column("searched", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        *bands,
        _id(),
        sa.CheckConstraint("(asset_id IS NULL) <> (tombstone_id IS NULL)", name=op.f("ck_phash_owner")),
        sa.CheckConstraint("place IN ('open', 'deleted', 'inside')", name=op.f("ck_phash_place")),
        _asset("asset_id", "phash"),
        sa.ForeignKeyConstraint(
            ["tombstone_id"],
            ["tombstone.id"],
            name=op.f("fk_phash_tombstone_id_tombstone"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_phash")),
        postgresql_with={"fillfactor": "85"},
    )
    for column in ("asset", "tombstone"):
        owner = f"{column}_id"
        op.create_index(
            f"ix_phash_{column}", "phash", [owner], postgresql_where=sa.text(f"{owner} IS NOT NULL")
        )
    op.create_index(
        "ix_phash_unsearched", "phash", ["id"], postgresql_where=sa.text("NOT searched AND place = 'open'")
    )
    for place in ("open", "deleted"):
        for n in range(4):
            op.create_index(
                f"ix_phash_{place}_{n}", "phash", [f"band{n}"], postgresql_where=sa.text(f"place = '{place}'")
            )


def _pairs() -> None:
    op.create_table(
        "duplicate_pair",
        sa.Column("a_id", sa.BigInteger(), nullable=False),
        sa.Column("b_id", sa.BigInteger(), nullable=False),
        sa.Column("distance", sa.SmallInteger(), nullable=False),
        sa.Column("mirrored", sa.Boolean(), nullable=False),
        sa.Column("verdict", sa.Text()),
        sa.Column("shown", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        _moment("found_at"),
        _id(),
        sa.CheckConstraint("a_id < b_id", name=op.f("ck_duplicate_pair_ordered")),
        sa.CheckConstraint("verdict IN ('alternate', 'different')", name=op.f("ck_duplicate_pair_verdict")),
        _asset("a_id", "duplicate_pair"),
        _asset("b_id", "duplicate_pair"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_duplicate_pair")),
        sa.UniqueConstraint("a_id", "b_id", name=op.f("uq_duplicate_pair_a_id_b_id")),
        postgresql_with={"fillfactor": "85"},
    )
    op.create_index("ix_duplicate_pair_b", "duplicate_pair", ["b_id"])
    op.create_index(
        "ix_duplicate_pair_shown", "duplicate_pair", ["distance", "id"], postgresql_where=sa.text("shown")
    )
    op.create_table(
        "duplicate_decision",
        sa.Column("a_sha256", sa.LargeBinary(), nullable=False),
        sa.Column("a_size", sa.BigInteger(), nullable=False),
        sa.Column("b_sha256", sa.LargeBinary(), nullable=False),
        sa.Column("b_size", sa.BigInteger(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("user_id", sa.BigInteger()),
        _moment("decided_at"),
        _id(),
        sa.CheckConstraint(
            "(a_sha256, a_size) < (b_sha256, b_size)", name=op.f("ck_duplicate_decision_ordered")
        ),
        sa.CheckConstraint(
            "verdict IN ('alternate', 'different')", name=op.f("ck_duplicate_decision_verdict")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_duplicate_decision")),
        sa.UniqueConstraint(
            "a_sha256",
            "a_size",
            "b_sha256",
            "b_size",
            name=op.f("uq_duplicate_decision_a_sha256_a_size_b_sha256_b_size"),
        ),
    )
    op.create_table(
        "alternate",
        sa.Column("asset_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("group_id", sa.BigInteger(), nullable=False),
        _asset("asset_id", "alternate"),
        sa.PrimaryKeyConstraint("asset_id", name=op.f("pk_alternate")),
    )
    op.create_index("ix_alternate_group", "alternate", ["group_id"])


def _rules() -> None:
    # A band and its sixteen neighbours at a distance of one bit, as the columns hold them.
    op.execute("""
CREATE FUNCTION phash_near(value bigint, band int) RETURNS smallint[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT array_agg((((value >> (16 * band)) & 65535) # flipped.bit) - 32768)::smallint[]
    FROM (SELECT 0 AS bit UNION ALL SELECT 1 << n FROM generate_series(0, 15) n) flipped
$$""")
    # Which pairs of these assets wait for a decision: both are there to be seen, nobody decided, they are not
    # versions of one thing, and between two groups only the best pair stands for all; what was called
    # different between two members holds for their groups.
    op.execute("""
CREATE FUNCTION settle_pairs(ids bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    members bigint[] := ARRAY(
        SELECT unnest(ids) UNION
        SELECT other.asset_id FROM alternate mine JOIN alternate other USING (group_id)
        WHERE mine.asset_id = ANY(ids));
    touched bigint[] := ARRAY(
        SELECT id FROM duplicate_pair WHERE a_id = ANY(members) UNION
        SELECT id FROM duplicate_pair WHERE b_id = ANY(members));
BEGIN
    IF cardinality(touched) = 0 THEN
        RETURN;
    END IF;
    -- In one order, so that two of them never wait for each other in a circle.
    PERFORM 1 FROM duplicate_pair WHERE id = ANY(touched) ORDER BY id FOR UPDATE;
    UPDATE duplicate_pair p SET shown = judged.shown
    FROM (
        SELECT id, shown_now AND NOT refused AND place_in_line = 1 AS shown FROM (
            SELECT sides.id, alive AND verdict IS NULL AND left_group <> right_group AS shown_now,
                   bool_or(verdict = 'different') OVER w IS TRUE AS refused,
                   row_number() OVER (PARTITION BY least(left_group, right_group),
                                          greatest(left_group, right_group),
                                          alive AND verdict IS NULL
                                      ORDER BY distance, sides.id) AS place_in_line
            FROM (
                SELECT d.id, d.distance, d.verdict,
                       a.state IN ('inbox', 'kept', 'archived') AND NOT a.private
                       AND b.state IN ('inbox', 'kept', 'archived') AND NOT b.private AS alive,
                       coalesce(g.group_id, -d.a_id) AS left_group,
                       coalesce(h.group_id, -d.b_id) AS right_group
                FROM duplicate_pair d JOIN asset a ON a.id = d.a_id JOIN asset b ON b.id = d.b_id
                LEFT JOIN alternate g ON g.asset_id = d.a_id LEFT JOIN alternate h ON h.asset_id = d.b_id
                WHERE d.id = ANY(touched)
            ) sides
            WINDOW w AS (PARTITION BY least(left_group, right_group), greatest(left_group, right_group))
        ) lined
    ) judged
    WHERE p.id = judged.id AND p.shown <> judged.shown;
END $$""")
    # Whoever moves assets to the trash, hides them or brings them back cannot forget their pairs and hashes.
    op.execute(f"""
CREATE FUNCTION asset_moved() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    -- No join: the planner takes both for a single row and would compare each with each.
    moved bigint[] := ARRAY(SELECT id FROM (
        SELECT id, state, private FROM fresh EXCEPT SELECT id, state, private FROM former) changed);
BEGIN
    IF cardinality(moved) > 0 THEN
        -- What comes back was not compared with what came in meanwhile.
        UPDATE phash p SET place = n.place, searched = p.searched AND n.place <> 'open'
        FROM (SELECT id, {_PLACE} AS place FROM fresh WHERE id = ANY(moved)) n
        WHERE p.asset_id = n.id AND p.place <> n.place;
        PERFORM settle_pairs(moved);
    END IF;
    RETURN NULL;
END $$""")
    op.execute(
        "CREATE TRIGGER asset_moved AFTER UPDATE ON asset REFERENCING OLD TABLE AS former NEW TABLE AS fresh"
        " FOR EACH STATEMENT EXECUTE FUNCTION asset_moved()"
    )


def _deleted_before() -> None:
    # Until now a deletion was remembered by its path alone; the content says the same under any name.
    op.execute("""
INSERT INTO tombstone (sha256, size, kind, width, height, name, deleted_at)
SELECT DISTINCT ON (sha256, size) sha256, size, '', 0, 0,
       right(regexp_replace(encode(path, 'escape'), '^.*/', ''), 200), changed_at
FROM root_entry WHERE reason = 'purged' AND sha256 IS NOT NULL
ORDER BY sha256, size, changed_at DESC""")
    op.execute("UPDATE root_entry SET reason = 'tombstoned' WHERE reason = 'purged'")
    for name, column in (("kept_out", "id"), ("kept_content", "sha256")):
        op.create_index(
            f"ix_root_entry_{name}",
            "root_entry",
            [column],
            postgresql_where=sa.text("outcome = 'skipped' AND reason = 'tombstoned'"),
        )
