"""Timers as they are shown, and the changes that buttons make to them. Imports only from `assistant.skills`."""
