"""The skill arithmetic: calculations, percentages and tips. Imports only from `assistant.skills`."""
