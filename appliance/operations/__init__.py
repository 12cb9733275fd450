"""Bulk actions on assets, and their undo."""
