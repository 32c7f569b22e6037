"""What can be set, and where it comes from: one file, the environment, flags."""
