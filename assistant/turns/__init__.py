"""The turn-taking core. Pure: events in, effects out; no I/O and no clock."""
