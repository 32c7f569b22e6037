"""Everything that answers: clients of language models, the answer cache, services, timers and lists of the user.

May import `build` and `loading`.
"""
