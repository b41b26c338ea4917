"""Errors of the recorder."""


class RecorderError(RuntimeError):
    """The recorder cannot do what it promises with this trainer."""
