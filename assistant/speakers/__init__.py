"""Decides who speaks: compares speaker embeddings, labels voices, and focuses on one. No I/O, no clock.

`voiceprint.py` is a known voice, `speaker_labels.py` gives speech a name or S1, S2, ..., and `focus.py` decides whether
speech is of the voice that the assistant listens to. All thresholds are in `thresholds.py`. Who speaks is never an
authentication: a recording of a voice, or a similar one, passes.
"""
