"""The skill clock: the time and the date, here and in other places. Imports only from `assistant.skills`."""
