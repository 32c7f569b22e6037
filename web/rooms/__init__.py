"""The conversations of one user in several rooms: which one answers, and announcements in them.

May import `session`.
"""
