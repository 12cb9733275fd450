"""Actions on assets, on one or on very many, and their undo."""
