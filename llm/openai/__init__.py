"""Client of services with OpenAI's chat completions. It may import shared parts of `llm`, and `declarations`."""
