"""Measuring the gallery in a real browser, on demand: never part of the suite."""
