"""Tables of texts, and small files."""
