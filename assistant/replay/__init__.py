"""`repartee trace replay` and `advise`: turns decided again, also with other settings, and what follows from it."""
