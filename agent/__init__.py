"""The agent: leases work from an appliance; imports nothing of it."""
