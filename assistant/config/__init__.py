"""Settings of the program and their sources: one file, environment variables and flags."""
