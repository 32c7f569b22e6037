"""The skill lists: lists and notes of the user. Imports only from `assistant.skills`."""
