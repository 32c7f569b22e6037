"""`repartee read`: summaries of documents, aloud, and a conversation about them."""
