"""Tools for timers, alarms and reminders, and the check that an answer claims none that is not set."""
