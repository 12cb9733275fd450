"""Perceptual matches, what people decided about them, and deletions that are remembered."""
