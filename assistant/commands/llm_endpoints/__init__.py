"""`repartee endpoints`: language models found, measured, added and removed."""
