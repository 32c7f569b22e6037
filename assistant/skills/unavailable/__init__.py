"""The skill unavailable: says what is not connected. Imports only from `assistant.skills`."""
