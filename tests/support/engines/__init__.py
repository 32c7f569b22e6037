"""Scripted recognizers, voices, detectors, tools and language models."""
