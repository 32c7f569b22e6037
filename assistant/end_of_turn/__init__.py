"""Estimates the end of a turn from text, sound and silence: a probability, and the silence timeout it implies.

May import `audio`.
"""
