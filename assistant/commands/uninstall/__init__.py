"""`repartee uninstall`: finds what the program has stored on this machine, shows it and removes it.

It may import whatever other commands may.
"""
