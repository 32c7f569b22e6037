"""A sound card as a microphone and a loudspeaker: opened, watched, lost and found again."""
