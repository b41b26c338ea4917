"""What is collected of a rollout until it is written."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import torch


@dataclass
class Scored:
    """One row as the loss was given it."""

    prompt: list
    ids: list
    mask: list
    old: list | None
    reference: list | None
    advantage: float | list


@dataclass
class Scoring:
    """What the trainer's scoring returned within the loss, [B, C], and what else it was called with."""

    model: torch.nn.Module
    logprobs: torch.Tensor
    entropies: torch.Tensor | None
    options: dict


@dataclass
class Pass:
    """What the loss of a micro-batch was given, and the scorings within it."""

    inputs: dict
    scorings: list = field(default_factory=list)


@dataclass
class Update:
    rows: list = field(default_factory=list)
    logprobs: list = field(default_factory=list)
    entropies: list = field(default_factory=list)
    losses: list = field(default_factory=list)
    facts: dict = field(default_factory=dict)


@dataclass
class Rollout:
    """What is collected from a generation, or from several that share an update, to the last update: row by row."""

    step: int
    data: list = field(default_factory=list)
    prompt_ids: list = field(default_factory=list)
    ids: list = field(default_factory=list)
    sources: list = field(default_factory=list)
    plain: list = field(default_factory=list)
    drawn: list = field(default_factory=list)
    processors: list = field(default_factory=list)
    sampled: list = field(default_factory=list)
    texts: list = field(default_factory=list)
    input_type: str | None = None
    rewards: list = field(default_factory=list)
    totals: list = field(default_factory=list)
    advantages: list = field(default_factory=list)
    scored: dict = field(default_factory=dict)
    update: Update = field(default_factory=Update)
    updates: list = field(default_factory=list)
    dropout: list | None = None
    probes: dict = field(default_factory=dict)
    audit: object = None
    seconds: defaultdict = field(default_factory=lambda: defaultdict(float))
