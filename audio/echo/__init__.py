"""What keeps the assistant from hearing itself."""
