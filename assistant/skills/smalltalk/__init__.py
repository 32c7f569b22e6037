"""The skill smalltalk: greetings, thanks and repetition. Imports only from `assistant.skills`."""
