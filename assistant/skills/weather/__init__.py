"""The skill weather: now, today and the next days. Imports from `assistant.skills` and `assistant.weather`."""
