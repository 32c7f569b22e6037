"""Handles the events of each state, one file for a state or a decision that several states share.

May import `conversation`, `effects`, `events`, `policies`, `settings` and `state`.
"""
