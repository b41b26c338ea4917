"""Pairs of numbers beyond their bounds: how many, and what they have in common."""

from __future__ import annotations

# Share of a factor by which pairs may differ from it, and the fewest pairs that tell one.
OF_FACTOR, FEWEST = 0.01, 3
# Most names of tensors that are told.
NAMED = 3


def off_of(pairs: list[dict]) -> dict:
    """The part `off` of a comparison; empty where all pairs hold."""
    own = [pair for pair in pairs if not pair["deviation"] <= pair["bound"]]
    if not own:
        return {}
    off = {"pairs": len(own)}
    # Numbers that are 0, but for rounding, have no factor.
    sized = [pair for pair in own if not isinstance(pair["plain"], str) and abs(pair["plain"]) > pair["bound"]]
    factors = [pair["found"] / pair["plain"] for pair in sized]
    if len(own) >= FEWEST and len(factors) == len(own):
        factor = (min(factors) + max(factors)) / 2
        if max(factors) - min(factors) <= OF_FACTOR * abs(factor):
            off["factor"] = factor
    for key in ("completion", "tensor"):
        some, every = [list(dict.fromkeys(one[key] for one in of if key in one)) for of in (own, pairs)]
        if len(every) > 1:
            off[f"{key}s"] = [len(some), len(every)]
        if key == "tensor" and 1 < len(some) < len(every):
            off["names"] = some[:NAMED]
    tokens = [pair["token"] for pair in own if "token" in pair]
    return off | ({"firstToken": min(tokens)} if tokens else {})
