"""The sampler, overheard within generate of transformers."""

from __future__ import annotations

import functools
from contextlib import contextmanager

import torch
from transformers import LogitsProcessor

from .errors import RecorderError


class SamplerSpy:
    """Log-probs of sampled tokens, heard within transformers' generate: before its processors and after them.

    A step's scores, [B, V], are kept until the next one shows which tokens were drawn.
    """

    def __init__(self, temperature: float):
        self.temperature = temperature
        self.processors, self.stops = [], []
        self.scores = []
        self.tokens, self.plain, self.drawn = [], [], []

    @property
    def heard(self) -> bool:
        return len(self.scores) > 0

    @contextmanager
    def within(self, model):
        """Puts a listener before the first processor and one after the last while generate is called."""
        builders = {"_get_logits_processor": self._listening, "_get_stopping_criteria": self._naming}
        wrapped = {name: wrap(getattr(model, name)) for name, wrap in builders.items() if hasattr(model, name)}
        for name, builder in wrapped.items():
            setattr(model, name, builder)
        try:
            yield
        finally:
            for name in wrapped:
                delattr(model, name)

    def _listening(self, build):
        @functools.wraps(build)
        def with_listeners(*args, **kwargs):
            processors = build(*args, **kwargs)
            config = kwargs.get("generation_config", args[0] if args else None)
            # Rows of beams come and go: none of them is a completion.
            if (getattr(config, "num_beams", None) or 1) > 1:
                return processors
            self.processors = [type(processor).__name__ for processor in processors]
            processors.insert(0, _Listener(self.before))
            processors.append(_Listener(self.after))
            return processors

        return with_listeners

    def _naming(self, build):
        @functools.wraps(build)
        def with_names(*args, **kwargs):
            criteria = build(*args, **kwargs)
            self.stops = [type(criterion).__name__ for criterion in criteria]
            return criteria

        return with_names

    def before(self, input_ids, scores) -> None:
        if self.scores:
            self._take(input_ids[:, -1])
        self.scores = [scores.float() / self.temperature]

    def after(self, _, scores) -> None:
        self.scores.append(scores.float())

    def _take(self, tokens) -> None:
        plain, drawn = ((s.gather(1, tokens[:, None])[:, 0] - s.logsumexp(1)).cpu() for s in self.scores)
        self.tokens.append(tokens.cpu())
        self.plain.append(plain)
        self.drawn.append(drawn)

    def rows(self, ids) -> tuple[list, list]:
        """Both log-probs of each completion; the last step's tokens are known only now."""
        longest = len(self.tokens) + 1
        last = [row[-1] if len(row) == longest else 0 for row in ids]
        self._take(torch.tensor(last, device=self.scores[0].device))
        tokens, plain, drawn = (torch.stack(steps, 1).tolist() for steps in (self.tokens, self.plain, self.drawn))
        for b, row in enumerate(ids):
            if tokens[b][: len(row)] != list(row):
                raise RecorderError(f"completion {b} is not what generate sampled: its ids were changed on the way")
        cut = [slice(len(row)) for row in ids]
        return [row[part] for row, part in zip(plain, cut)], [row[part] for row, part in zip(drawn, cut)]


class _Listener(LogitsProcessor):
    def __init__(self, hear):
        self.hear = hear

    def __call__(self, input_ids, scores):
        self.hear(input_ids, scores)
        return scores
