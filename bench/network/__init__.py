"""Networks with loss and delay between a client and the server.

May import `controlled_llm` and `conversations`.
"""
