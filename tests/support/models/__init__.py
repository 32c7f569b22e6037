"""Small models that tests write, and those that are installed."""
