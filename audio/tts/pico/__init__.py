"""The Pico voices of the package py-nanotts, which run in a process of their own because they hold the GIL.

It may import from `audio.tts` and `audio`.
"""
