"""`repartee trace`: from records on disk to figures, tables and drawings."""
