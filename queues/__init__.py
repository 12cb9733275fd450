"""Lanes and tasks: one declaration drives queueing, limits, recovery and retention."""
