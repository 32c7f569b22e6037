"""The engines of one conversation, and what its client may choose and change.

May import `answering`, `build`, `derived_settings`, `engine_loader`, `listening`, `loading` and `voices`.
"""
