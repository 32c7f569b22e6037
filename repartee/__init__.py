"""The program `repartee`: its entry point and its command line. May import every package; none imports it."""
