"""The commands `repartee service ...`: run the server, or `talk`, in the background, from login on.

`systemd.py` (Linux), `launchd.py` (macOS) and `windows_task.py` make the file and the commands of their system, without
I/O. `command.py` writes the file and runs the commands.
"""
