"""The skills in German."""
