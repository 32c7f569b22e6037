"""Builds what a client is sent: events in order, the objects of a session, a response and an item.

May import `incoming`, `items` and `values`.
"""
