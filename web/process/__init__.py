"""Event loop, threads, memory and file descriptors of the server's process.

May import nothing else of the server.
"""
