"""Alembic's entry: runs on the connection that `migrations.run` hands over."""

from __future__ import annotations

from alembic import context

from migrations.models import METADATA


def run() -> None:
    """Apply the revisions inside one transaction."""
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=METADATA,
        compare_type=True,
        compare_server_default=True,
    )
    with context.begin_transaction():
        context.run_migrations()


run()
