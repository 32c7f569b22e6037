"""Builds engines and conversations from settings. The only package that names concrete engines."""
