"""The OpenAI Realtime protocol, without I/O: text in, commands out; facts in, text out."""
