"""Client of services with OpenAI's chat completions. It may import the shared parts of `llm` and `declarations`."""
