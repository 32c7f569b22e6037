"""HTTP routes of the page: conversations, settings and set-up."""
