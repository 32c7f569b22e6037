"""Base of the other packages: paths, files, signals, the terminal, the processor and limits of the system."""
