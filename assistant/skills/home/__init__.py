"""The skill home: requests to a home. Imports from `assistant.skills` and `assistant.home`."""
