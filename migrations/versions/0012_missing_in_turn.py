"""Whoever takes files from assets and whoever brings them take turns in saying what is missing."""

from __future__ import annotations

from alembic import op


revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

TURN = 0x5654524E0012
# A page of a volume lies in the volume's file.
NOWHERE = """NOT EXISTS (SELECT FROM asset_file o WHERE o.asset_id = a.id)
        AND NOT EXISTS (SELECT FROM volume_page g JOIN asset_file o ON o.asset_id = g.volume_id
                        WHERE g.asset_id = a.id)"""
# Nobody else can take a file from an asset that this transaction made, so that a new one costs no turn.
OLDER = "(a.added_at <> now() OR a.xmin <> pg_current_xact_id()::xid)"
WITH_PAGES = "ids || ARRAY(SELECT g.asset_id FROM volume_page g WHERE g.volume_id = ANY(ids))"


def upgrade() -> None:
    _judging()
    _files()
    _pages()
    _as_it_is()


def _judging() -> None:
    # Each statement of a function sees what was committed before it: after the turn was waited for, what
    # the other hand did is seen. Who takes away goes alone, those who bring something go side by side.
    # Rows are held in one order before they are changed, and the usual case writes nothing.
    op.execute(f"""
CREATE FUNCTION assets_left(ids bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    concerned bigint[] := {WITH_PAGES};
BEGIN
    -- What is deleted with its files is nobody's to judge.
    IF NOT EXISTS (SELECT FROM asset WHERE id = ANY(concerned) AND missing_since IS NULL) THEN
        RETURN;
    END IF;
    PERFORM pg_advisory_xact_lock({TURN});
    PERFORM FROM asset a WHERE a.id = ANY(concerned) AND a.missing_since IS NULL AND {NOWHERE}
        ORDER BY a.id FOR NO KEY UPDATE;
    IF FOUND THEN
        UPDATE asset a SET missing_since = now()
        WHERE a.id = ANY(concerned) AND a.missing_since IS NULL AND {NOWHERE};
    END IF;
END $$""")
    op.execute(f"""
CREATE FUNCTION assets_found(ids bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    concerned bigint[] := {WITH_PAGES};
BEGIN
    PERFORM pg_advisory_xact_lock_shared({TURN});
    PERFORM FROM asset WHERE id = ANY(concerned) AND missing_since IS NOT NULL
        ORDER BY id FOR NO KEY UPDATE;
    IF FOUND THEN
        UPDATE asset SET missing_since = NULL WHERE id = ANY(concerned) AND missing_since IS NOT NULL;
    END IF;
END $$""")


def _files() -> None:
    op.execute(f"""
CREATE OR REPLACE FUNCTION file_came() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    came bigint[] := ARRAY(SELECT f.asset_id FROM fresh f JOIN asset a ON a.id = f.asset_id WHERE {OLDER});
BEGIN
    IF cardinality(came) > 0 THEN
        PERFORM assets_found(came);
    END IF;
    RETURN NULL;
END $$""")
    op.execute("""
CREATE OR REPLACE FUNCTION file_went() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    went bigint[] := ARRAY(SELECT asset_id FROM former);
BEGIN
    IF cardinality(went) > 0 THEN
        PERFORM assets_left(went);
    END IF;
    RETURN NULL;
END $$""")
    # First the turn that is taken alone: two who went side by side could not both go on alone.
    op.execute(f"""
CREATE OR REPLACE FUNCTION file_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    went bigint[] := ARRAY(SELECT asset_id FROM former EXCEPT SELECT asset_id FROM fresh);
    came bigint[] := ARRAY(
        SELECT f.asset_id FROM (SELECT asset_id FROM fresh EXCEPT SELECT asset_id FROM former) f
        JOIN asset a ON a.id = f.asset_id WHERE {OLDER});
BEGIN
    IF cardinality(went) > 0 THEN
        PERFORM assets_left(went);
    END IF;
    IF cardinality(came) > 0 THEN
        PERFORM assets_found(came);
    END IF;
    RETURN NULL;
END $$""")


def _pages() -> None:
    op.execute(f"""
CREATE FUNCTION page_came() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF EXISTS (SELECT FROM asset a WHERE a.id = NEW.asset_id AND {OLDER}) THEN
        PERFORM pg_advisory_xact_lock_shared({TURN});
        IF EXISTS (SELECT FROM asset WHERE id = NEW.asset_id AND missing_since IS NOT NULL)
                AND EXISTS (SELECT FROM asset_file WHERE asset_id = NEW.volume_id) THEN
            UPDATE asset SET missing_since = NULL WHERE id = NEW.asset_id AND missing_since IS NOT NULL;
        END IF;
    END IF;
    RETURN NULL;
END $$""")
    op.execute(
        "CREATE TRIGGER page_came AFTER INSERT OR UPDATE OF asset_id ON volume_page FOR EACH ROW"
        " WHEN (NEW.asset_id IS NOT NULL) EXECUTE FUNCTION page_came()"
    )
    op.execute("""
CREATE FUNCTION page_went() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    went bigint[] := ARRAY(SELECT DISTINCT asset_id FROM former WHERE asset_id IS NOT NULL);
BEGIN
    IF cardinality(went) > 0 THEN
        PERFORM assets_left(went);
    END IF;
    RETURN NULL;
END $$""")
    op.execute(
        "CREATE TRIGGER page_went AFTER DELETE ON volume_page REFERENCING OLD TABLE AS former"
        " FOR EACH STATEMENT EXECUTE FUNCTION page_went()"
    )


def _as_it_is() -> None:
    # What was said at the wrong moment until now.
    op.execute(f"UPDATE asset a SET missing_since = NULL WHERE missing_since IS NOT NULL AND NOT ({NOWHERE})")
    op.execute(f"UPDATE asset a SET missing_since = now() WHERE missing_since IS NULL AND {NOWHERE}")
