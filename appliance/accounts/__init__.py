"""People: users, their sessions, and what they did."""
