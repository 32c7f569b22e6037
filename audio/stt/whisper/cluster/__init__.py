"""Whisper on a cluster: gateways decide what is decoded and when, and replicas decode.

It may import the rest of Whisper's package and the interfaces of `audio.cluster`.
"""
