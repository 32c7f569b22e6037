"""The trace: the record of a turn, its latency breakdown, and its way to disk and to an OpenTelemetry collector."""
