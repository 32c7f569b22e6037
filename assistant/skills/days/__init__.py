"""The skill days: days until, since and between dates, and weekdays. Imports only from `assistant.skills`."""
