"""The program in a terminal or in the background, and what is seen of it."""
