"""What must not be read aloud of a model's markup: the rules that `assistant.text.speakable` applies."""
