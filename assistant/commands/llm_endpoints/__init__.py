"""`repartee endpoints`: finds, measures, adds and removes language models."""
