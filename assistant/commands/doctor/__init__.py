"""`repartee doctor`: what works on this machine, what is missing, and what to do about it."""
