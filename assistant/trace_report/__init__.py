"""Implements `repartee trace`: turns trace records on disk into figures, tables and plots."""
