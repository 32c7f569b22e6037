"""The voices: the choice of one, the list of all, how they are made and loaded, and the sounds of a listener.

May import `loading` and `providers`.
"""
