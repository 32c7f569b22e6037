"""The skill voice: the volume and the speed of the voice. Imports only from `assistant.skills`."""
