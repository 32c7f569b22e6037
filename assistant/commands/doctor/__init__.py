"""`repartee doctor`: checks what works on this machine, what is missing, and how to fix it."""
