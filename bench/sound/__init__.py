"""Detectors, echo cancellation, recognizers and voices.

May import `conversations`, `turns` and `vad`.
"""
