"""Recognizers and the end-of-turn estimator: which one and which model, measured times, and how they are loaded.

May import `build`, `cluster_engines`, `derived_settings`, `loading` and `providers`.
"""
