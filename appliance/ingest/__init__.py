"""Roots, scans, batches and import tasks."""
