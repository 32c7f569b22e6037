"""Text: messages out, tokens in."""
