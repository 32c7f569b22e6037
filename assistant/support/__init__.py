"""What the other packages of the assistant build on: paths, files, signals, the terminal, the processor."""
