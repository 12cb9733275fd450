"""Pure work over files: sniffing, the decode child, metadata, renditions. No database."""
