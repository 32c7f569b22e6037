"""The EOT estimate: its turns and moments, the fit of its weights, and the curve of waiting against cut pauses.

May import `conversations`.
"""
