"""A rollout as it is collected, from its generation to its last update."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import torch

from .errors import RecorderError

# Key under which each row of TRL's batch carries its number through shuffling and splitting.
ROW = "grpo_trace_row"
# Lists of a rollout with an entry for each row, and for each generation.
BY_ROW = ("prompt_ids", "ids", "sources", "plain", "drawn", "sampled", "texts")
BY_GENERATION = ("rewards", "totals")


def empty_list():
    return field(default_factory=list)


@dataclass
class Scored:
    """One row of the loss's input."""

    prompt: list
    ids: list
    mask: list
    old: list | None
    reference: list | None
    advantage: float | list


@dataclass
class Scoring:
    """A call of the trainer's scoring within the loss: its results, [B, C], and its further arguments."""

    model: torch.nn.Module
    logprobs: torch.Tensor
    entropies: torch.Tensor | None
    options: dict


@dataclass
class Pass:
    """Input of the loss of a micro-batch, and the scorings within it."""

    inputs: dict
    scorings: list = empty_list()


@dataclass
class Update:
    """An optimizer update: numbers of its rows, their log-probs and entropies by token, a loss per micro-batch."""

    rows: list = empty_list()
    logprobs: list = empty_list()
    entropies: list = empty_list()
    losses: list = empty_list()
    facts: dict = field(default_factory=dict)


@dataclass
class Rollout:
    """A generation, or several that share an update, up to the last update. Lists have one entry per row."""

    step: int
    data: list = empty_list()
    prompt_ids: list = empty_list()
    ids: list = empty_list()
    # 1 where a tool wrote the token.
    sources: list = empty_list()
    # Log-probs of the sampled tokens under the plain distribution, and under the one that they were drawn from.
    plain: list = empty_list()
    drawn: list = empty_list()
    processors: list = empty_list()
    stops: list = empty_list()
    # Completions as sampled, and as text.
    sampled: list = empty_list()
    texts: list = empty_list()
    input_type: str | None = None
    # One array per generation: rewards [rows, functions], and their weighted sums [rows].
    rewards: list = empty_list()
    totals: list = empty_list()
    advantages: list = empty_list()
    scored: dict = field(default_factory=dict)
    update: Update = field(default_factory=Update)
    updates: list = empty_list()
    dropout: list | None = None
    probes: dict = field(default_factory=dict)
    audit: object = None
    seconds: defaultdict = field(default_factory=lambda: defaultdict(float))

    def sizes(self) -> dict[str, int]:
        return {name: len(getattr(self, name)) for name in (*BY_ROW, *BY_GENERATION)}

    def keep_one(self, before: dict[str, int], ids: list[list[int]]) -> int:
        """Keeps, of the generations since `before`, the one whose completions `ids` begin with; returns how many others
        there were. An override may sample a batch several times."""
        rows = len(ids)
        count = (len(self.ids) - before["ids"]) // rows
        if count <= 1:
            return 0
        sampled = [self.ids[before["ids"] + i * rows :][:rows] for i in range(count)]
        kept = [i for i, own in enumerate(sampled) if all(b[: len(a)] == a for a, b in zip(own, ids, strict=True))]
        if not kept:
            raise RecorderError(f"the batch was sampled {count} times, and none of these is what is trained")
        for names, size in ((BY_ROW, rows), (BY_GENERATION, 1)):
            for name in names:
                values, start = getattr(self, name), before[name]
                if len(values) - start == count * size:
                    values[start:] = values[start + kept[-1] * size :][:size]
        return count - 1

    @property
    def update_audit(self):
        """The audit of the first update, up to its end; None afterwards, or where the rollout has none."""
        return None if self.updates else self.audit
