"""Teaches the program the voice of a person: checks a recording, and keeps the voice in a file of the user.

`recording.py` makes a voice of a recording, `voice_file.py` keeps it, and `voice_names.py` says which names are valid.
"""
