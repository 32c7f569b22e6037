"""`repartee bench engines`: measures recognizers and voices on this machine."""
