"""The conversation: who has the floor, what is said, and what every millisecond was spent on."""
