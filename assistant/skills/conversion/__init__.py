"""The skill conversion: units of measurement. Imports only from `assistant.skills`."""
