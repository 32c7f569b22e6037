"""The Wyoming server beside wyoming-faster-whisper and wyoming-piper.

May import `conversations`, `doc_tables` and `sound`.
"""
