"""Foundations without a word of the domain."""
