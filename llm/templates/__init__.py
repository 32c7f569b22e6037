"""Templates that render messages as one prompt, for services that take no messages."""
