"""Assets, files and renditions."""
