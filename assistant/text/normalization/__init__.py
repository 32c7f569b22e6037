"""Text normalization: replaces numbers, units, dates, abbreviations and signs by words."""
