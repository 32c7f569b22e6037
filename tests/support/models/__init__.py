"""Small models that tests write, and installed ones."""
