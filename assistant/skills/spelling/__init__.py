"""The skill spelling: spelling of words. Imports only from `assistant.skills`."""
