"""Smart Turn: a network that estimates from sound whether a turn is over."""
