"""The skill alarms: alarms, and snoozing of what rang. Imports only from `assistant.skills`."""
