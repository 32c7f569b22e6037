"""The conversation around a request: open questions, references to what was done last, several requests, refusals.

Pure: no I/O, no clock. It imports the types, templates and readers of `assistant.skills`, not `skills.py`, `chat.py`.
"""
