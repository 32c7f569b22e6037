"""Presents several endpoints as one model: selection, hedging and failover."""
