"""Says what a user dictates and whether it is complete, by rules: phone numbers, spelt names, addresses, lists.

May import `completeness` and `questions`.
"""
