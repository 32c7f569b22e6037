"""The voice assistant: turn taking, replies, and a record of the time that each turn took."""

import os

from audio.telemetry import switch_off_telemetry

# numpy's OpenBLAS takes a thread for each core, and spins on them for 50 ms after the smallest product: a run of Smart
# Turn cost 56 ms of processor time instead of 6, beside the decoder that was being waited for. It is read when numpy is
# imported, so this comes before.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
switch_off_telemetry()
