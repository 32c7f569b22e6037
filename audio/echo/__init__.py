"""Echo cancellation and half-duplex operation."""
