"""Base of the other packages: paths, files, signals, the terminal and the processor."""
