"""Tags, their kinds and aliases, and which assets carry them."""
