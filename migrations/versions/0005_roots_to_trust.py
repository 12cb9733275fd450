"""Roots that can be trusted: what they are, what is missing, what moved, and what changes under them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op


revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _roots()
    _entries()
    _batches()
    _missing()


def _roots() -> None:
    op.add_column("root", sa.Column("identity", sa.Text()))
    op.add_column("root", sa.Column("held_batch", sa.BigInteger()))
    for name in ("held_gone", "held_known"):
        op.add_column("root", sa.Column(name, sa.BigInteger(), server_default=sa.text("0"), nullable=False))
    op.add_column("root", sa.Column("watched", sa.Boolean(), server_default=sa.text("true"), nullable=False))
    op.add_column(
        "root",
        sa.Column("watch_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
    )
    op.add_column("root", sa.Column("watch_ms", sa.Integer()))
    op.create_table(
        "root_folder",
        sa.Column("root_id", sa.BigInteger(), nullable=False),
        sa.Column("path", sa.LargeBinary(), nullable=False),
        sa.Column("mtime_ns", sa.BigInteger(), nullable=False),
        sa.Column("seen_batch", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["root_id"], ["root.id"], name=op.f("fk_root_folder_root_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("root_id", "path", name=op.f("pk_root_folder")),
        postgresql_with={"fillfactor": "80"},
    )


def _entries() -> None:
    op.drop_constraint(op.f("ck_root_entry_outcome"), "root_entry")
    op.create_check_constraint(
        op.f("ck_root_entry_outcome"),
        "root_entry",
        "outcome IN ('pending', 'imported', 'duplicate', 'failed', 'skipped', 'missing')",
    )
    op.create_index(
        "ix_root_entry_inode",
        "root_entry",
        ["root_id", "inode"],
        postgresql_where=sa.text("asset_id IS NOT NULL"),
    )


def _batches() -> None:
    op.drop_constraint(op.f("ck_import_batch_cause"), "import_batch")
    op.create_check_constraint(
        op.f("ck_import_batch_cause"), "import_batch", "cause IN ('scan', 'watch', 'retry', 'upload')"
    )
    for name in ("moved", "returned", "missing"):
        op.add_column(
            "import_batch", sa.Column(name, sa.BigInteger(), server_default=sa.text("0"), nullable=False)
        )
    op.add_column("import_batch", sa.Column("confirms", sa.BigInteger()))
    op.add_column("import_task", sa.Column("run_at", sa.DateTime(timezone=True)))
    op.create_index(
        "ix_import_task_run_at",
        "import_task",
        ["run_at"],
        postgresql_where=sa.text("status = 'pending' AND run_at IS NOT NULL"),
    )


# Whoever adds or takes a file, one or a hundred thousand: an asset without any is missing, and one that has
# a file again is not. Looked at before it is changed, so that the usual case writes nothing. What is a page
# of a volume lies in the volume's file (that table comes with the next revision, before any file can go).
_NOWHERE = """NOT EXISTS (SELECT FROM asset_file o WHERE o.asset_id = a.id)
               AND NOT EXISTS (SELECT FROM volume_page g JOIN asset_file o ON o.asset_id = g.volume_id
                               WHERE g.asset_id = a.id)"""
_LEFT = f"""
    IF EXISTS (SELECT FROM asset a JOIN former f ON f.asset_id = a.id WHERE a.missing_since IS NULL
               AND {_NOWHERE}) THEN
        UPDATE asset a SET missing_since = now()
        WHERE a.id = ANY(ARRAY(SELECT asset_id FROM former)) AND a.missing_since IS NULL
            AND {_NOWHERE};
    END IF;
"""
_THERE = """
    IF EXISTS (SELECT FROM asset a JOIN fresh f ON f.asset_id = a.id WHERE a.missing_since IS NOT NULL) THEN
        UPDATE asset a SET missing_since = NULL
        WHERE a.id = ANY(ARRAY(SELECT asset_id FROM fresh)) AND a.missing_since IS NOT NULL;
    END IF;
"""


def _missing() -> None:
    op.create_index(
        "ix_asset_missing",
        "asset",
        [sa.literal_column("effective_at DESC"), sa.literal_column("id DESC")],
        postgresql_where=sa.text("missing_since IS NOT NULL AND state IN ('inbox', 'kept') AND NOT private"),
    )
    for name, what, tables, body in (
        ("file_came", "INSERT", "NEW TABLE AS fresh", _THERE),
        ("file_went", "DELETE", "OLD TABLE AS former", _LEFT),
        ("file_changed", "UPDATE", "OLD TABLE AS former NEW TABLE AS fresh", _THERE + _LEFT),
    ):
        op.execute(
            f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS"
            f" $$ BEGIN {body} RETURN NULL; END $$"
        )
        op.execute(
            f"CREATE TRIGGER {name} AFTER {what} ON asset_file REFERENCING {tables}"
            f" FOR EACH STATEMENT EXECUTE FUNCTION {name}()"
        )
