"""Audio input and output, voice activity detection, speech to text and text to speech."""

from audio.telemetry import switch_off_telemetry

switch_off_telemetry()  # before any module here imports onnxruntime
