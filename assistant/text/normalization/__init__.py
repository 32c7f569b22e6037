"""Text written for the eye as words for the ear."""
