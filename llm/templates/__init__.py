"""Prepares messages for services: renders them as one prompt by a template, or makes their roles alternate.

May import the modules of `llm` that know no service.
"""
