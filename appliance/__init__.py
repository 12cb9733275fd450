"""Vitrine, a self-hosted curator for large home collections."""
