"""Markup rules applied by `assistant.text.speakable`."""
