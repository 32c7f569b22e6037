"""Virtual time, durations, and stalls of the machine."""
