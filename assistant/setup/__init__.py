"""From settings to loaded engines and a new conversation. The only package that names concrete engines."""
