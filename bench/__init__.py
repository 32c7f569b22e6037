"""Measurements behind the documented figures. They may import every package."""

import audio

__all__ = ["audio"]  # imported before any library: it switches off telemetry
