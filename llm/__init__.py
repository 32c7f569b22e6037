"""Language models: messages in, tokens out."""
