"""Implements turn taking as a pure state machine: events in, effects out; no I/O and no clock."""
