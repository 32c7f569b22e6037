"""The skill chance: coins, dice and random numbers. Imports only from `assistant.skills`."""
