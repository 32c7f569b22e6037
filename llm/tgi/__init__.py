"""Client of Text Generation Inference by its native route. It may import shared parts of `llm`, and `declarations`."""
