"""What all clients of HTTP services share."""
