"""Finds the engines that are installed, by their entry points, and what their packages declare.

It imports only `support` of this package and the declarations of `audio` and `llm`.
"""
