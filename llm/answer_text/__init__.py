"""Tells the answer of a language model from its thoughts, end marks and written calls. Imports only `llm.chat`."""
