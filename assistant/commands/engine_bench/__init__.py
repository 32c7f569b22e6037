"""`repartee bench engines`: recognizers and voices, measured on this machine."""
