"""Listeners at a trainer's methods: outside of a user's overrides, and inside of them at TRL's own.

Outside, an attribute of the object stands before its method. Inside, a class stands between the user's classes and
TRL's, so that `super()` in an override reaches it first. Neither touches a class that other trainers share.
"""

from __future__ import annotations

import functools


def trl_class_of(trainer) -> type | None:
    """The class of TRL that the trainer is, or that its own class extends."""
    return next((own for own in type(trainer).__mro__ if own.__module__.split(".")[0] == "trl"), None)


def overridden(trainer, names) -> dict[str, str]:
    """Those of the methods that are not TRL's own, with the class that has them."""
    base = trl_class_of(trainer)
    own = type(trainer).__mro__[: type(trainer).__mro__.index(base)]
    owners = {name: [c.__qualname__ for c in own if name in vars(c)] for name in names}
    # An attribute of the object itself comes before its class.
    owners |= {name: ["the object"] for name in names if name in vars(trainer)}
    return {name: owner[0] for name, owner in owners.items() if owner}


class Listeners:
    def __init__(self, trainer):
        self.trainer = trainer
        self.original = {}
        self.fired = set()
        self._undo = []

    def outside(self, owner, name: str, around) -> None:
        """Replaces a method of an object by `around(original, …)`, which hears of every call."""
        self.original[name] = original = getattr(owner, name)

        @functools.wraps(original)
        def listener(*args, **kwargs):
            self.fired.add(name)
            return around(original, *args, **kwargs)

        listener.listeners = self
        self.replace(owner, name, listener)

    def replace(self, owner, name: str, value) -> None:
        """Sets an attribute of an object, until the listeners are removed."""
        had, before = name in vars(owner), vars(owner).get(name)
        setattr(owner, name, value)
        self._undo.append(lambda: setattr(owner, name, before) if had else delattr(owner, name))

    def inside(self, arounds: dict) -> None:
        """Has `around(original, …)` hear of calls that reach TRL's own methods, from an override or without one."""
        own, base = type(self.trainer), trl_class_of(self.trainer)
        found = {name: around for name, around in arounds.items() if hasattr(base, name)}
        methods = {name: _method(getattr(base, name), around) for name, around in found.items()}
        names = {"__module__": own.__module__, "__qualname__": own.__qualname__, "__doc__": own.__doc__}
        listening = type(base.__name__, (base,), methods | names)
        self.trainer.__class__ = listening if own is base else type(own.__name__, (own, listening), names)
        self._undo.append(lambda: setattr(self.trainer, "__class__", own))

    def remove(self) -> None:
        while self._undo:
            self._undo.pop()()


def _method(own, around):
    @functools.wraps(own)
    def method(self, *args, **kwargs):
        return around(functools.partial(own, self), *args, **kwargs)

    return method
