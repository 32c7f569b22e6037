"""Threads for work on the disk, apart from those of asyncio.

A disk that hangs keeps a thread for each file that is being written. In asyncio's own threads, of which there are few,
name lookups and the loading of engines would wait for it, and with them the turns of every conversation. Traces and
conversations may be on different disks.
"""

from concurrent.futures import ThreadPoolExecutor

MAX_THREADS = 4
"""Threads for each kind of file. Writing a turn takes a millisecond, so one of them serves many conversations."""

TRACE_THREADS = ThreadPoolExecutor(MAX_THREADS, "traces")
CONVERSATION_THREADS = ThreadPoolExecutor(MAX_THREADS, "conversations")
