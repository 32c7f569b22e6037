"""The commands `repartee service ...`: run the server, or `talk`, in the background, from login on, as a systemd unit.

`unit.py` makes the unit's text without I/O; `command.py` writes it and runs `systemctl`.
The commands are in `repartee/service_cli.py`.
"""
