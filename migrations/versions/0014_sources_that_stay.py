"""How many files of an import were stored and could not be taken out of their folder."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op


revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "import_batch", sa.Column("stayed", sa.BigInteger(), nullable=False, server_default=sa.text("0"))
    )
