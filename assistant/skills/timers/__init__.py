"""The skill timers, and all that is set for a later time. Imports only from `assistant.skills`."""
