"""Builds engines and their users' settings from the configuration. The only package that names concrete engines.

May import every earlier layer of `assistant`, `audio` and `llm`.
"""
