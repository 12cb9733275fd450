"""Roots that can be trusted."""

from __future__ import annotations


revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Nothing yet."""
