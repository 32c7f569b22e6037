"""Skills: answers without a language model. Each is a package with its declaration (`skill.py`) and its sentences.

It imports from `assistant` only `support`, `home` and `weather`, and nothing else that knows conversations.
"""
