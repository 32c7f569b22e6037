"""Fake services that the program calls: language models, AWS, Triton, the home, collectors of traces."""
