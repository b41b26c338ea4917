"""The plain form of a step: one completion at a time, no padding, the model's own forward pass, the declared loss."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass

import torch


@dataclass
class Rounding:
    """How far rounding may put off a log-prob, by the largest logit, and a gradient, by what completions add to it."""

    logprob: float
    gradient: float


# Positions whose rotation adds as much to the rounding as all else. Padding shifts the rows of a batch against each other.
SHIFTED = 256


def rounding_of(dtype: torch.dtype, layers: int, positions: int) -> Rounding:
    """Roundings through all layers add up like a random walk. Measured at most 76 and 68 of them in float32, with 360 tokens
    beside 20 (8 without padding), and 1.1 and 0.3 in bfloat16, whose products are summed in float32."""
    one = torch.finfo(dtype).eps * layers**0.5
    if torch.finfo(dtype).bits < 32:
        return Rounding(2 * one, 16 * one)
    return Rounding(64 * (1 + positions / SHIFTED) * one, 512 * one)


@dataclass
class PlainRow:
    """A completion as it was sampled, and what the loss makes of it."""

    prompt: list
    ids: list
    mask: list
    advantage: float


@dataclass
class Form:
    """The declared loss: how its tokens are weighed, at the first update of a rollout."""

    loss: str
    ratio: str
    beta: float
    bias_corrected: bool
    clip_high: float
    # Bound of the ratio itself, of a two-sided clip.
    delta: float
    slopes: tuple[float, float]
    rows: int
    accumulation: int
    max_length: int
    rollout_tokens: int
    micro_batches: int
    # Coefficient of the entropy bonus.
    entropy: float

    def weight(self, tokens: int, batch_tokens: int) -> float:
        """Weight of a token's term, in a completion of `tokens` in a micro-batch of `batch_tokens`."""
        if self.loss in ("grpo", "sapo"):
            return 1 / (self.rows * max(tokens, 1) * self.accumulation)
        if self.loss == "bnpo":
            return 1 / (max(batch_tokens, 1) * self.accumulation)
        if self.loss == "dr_grpo":
            return 1 / (self.rows * self.max_length * self.accumulation)
        if self.loss == "luspo":
            return 1 / (self.rows * self.accumulation)
        # Tokens of the rollout, of which this update has its share.
        return self.micro_batches / (max(self.rollout_tokens, 1) * self.accumulation)

    def terms(self, logprobs, mask, advantage, reference):
        """Terms of the loss, by token. The old policy is the policy itself: the ratio is 1, its gradient is not 0."""
        log_ratio = logprobs - logprobs.detach()
        if self.ratio == "sequence":
            log_ratio = (log_ratio * mask).sum() / mask.sum().clamp(min=1) + 0 * log_ratio
        ratio = log_ratio.exp()
        if self.loss == "cispo":
            terms = -min(1.0, self.clip_high) * advantage * logprobs
        elif self.loss == "sapo":
            slope = self.slopes[0] if advantage > 0 else self.slopes[1]
            terms = -torch.sigmoid(slope * (ratio - 1)) * 4 / slope * advantage
        elif self.delta < 1 and advantage > 0:
            terms = -self.delta * advantage + 0 * ratio
        else:
            terms = -ratio * advantage
        if self.beta:
            kl = (reference - logprobs).exp() - (reference - logprobs) - 1
            terms = terms + self.beta * (kl * ratio if self.bias_corrected else kl)
        return terms


    def entropy_weight(self, batch_tokens: int) -> float:
        """Weight of a token in the mean entropy of a micro-batch."""
        return 1 / (max(batch_tokens, 1) * self.accumulation)


@dataclass
class PlainScore:
    logprobs: torch.Tensor
    entropies: torch.Tensor
    # How far rounding may put each of them off.
    bound: float


def score(model, prompt: list, ids: list, temperature: float, rounding: Rounding) -> PlainScore:
    """Log-probs and entropies of one completion after its prompt, [C]."""
    device = next(model.parameters()).device
    input_ids = torch.tensor([[*prompt, *ids]], device=device)
    logits = model(input_ids=input_ids, use_cache=False).logits[0, len(prompt) - 1 : -1].float() / temperature
    every = logits.log_softmax(-1)
    logprobs = every.gather(1, input_ids[0, len(prompt) :, None])[:, 0]
    bound = rounding.logprob * (float(logits.detach().abs().max()) if ids else 0.0)
    return PlainScore(logprobs, -(every.exp() * every).sum(-1), bound)


@contextmanager
def evaluating(*models):
    """Without dropout and checkpointing, and afterwards every module in the mode that it was in."""
    training = [module for model in models if model is not None for module in model.modules() if module.training]
    for module in training:
        module.training = False
    try:
        yield
    finally:
        for module in training:
            module.training = True
