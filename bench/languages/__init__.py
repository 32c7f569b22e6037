"""Judges how the language of each utterance is followed.

May import no other room of `bench`.
"""
