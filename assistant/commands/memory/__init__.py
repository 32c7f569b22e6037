"""The commands `repartee memory ...`."""
