"""The home of a client in the protocol: its devices and their states, and the calls that change them.

May import `values`.
"""
