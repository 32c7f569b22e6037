"""The error of models. In a module of its own, because `repartee --help` needs no catalogue."""


class ModelError(Exception):
    """A model that is unknown or cannot be downloaded. The text is one sentence: what, where, and what to do next."""
