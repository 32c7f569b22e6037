"""The skill reminders: reminders of a task. Imports only from `assistant.skills`."""
