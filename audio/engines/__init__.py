"""Declarations of engines: what one package says about its engine, so that nothing else has to know its name.

They may import the interfaces of `audio` and the standard library, but no engine and no numerical library.
"""
