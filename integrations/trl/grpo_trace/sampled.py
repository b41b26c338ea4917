"""A sample of every trained tensor."""

from __future__ import annotations

import torch

# Elements of each tensor that are compared before and after an update.
SAMPLED_ELEMENTS = 4096


def sample_of(tensor: torch.Tensor) -> torch.Tensor:
    """A strided copy, of an odd stride so as not to stay in one column."""
    return tensor.detach().reshape(-1)[:: (tensor.numel() // SAMPLED_ELEMENTS) | 1].clone()


def are_others(model, left: dict[str, torch.Tensor]) -> bool:
    """Whether a trained tensor is another than these samples of it."""
    own = trained(model)
    return any(name in own and not sample_of(own[name]).equal(sample) for name, sample in left.items())


def trained(model) -> dict[str, torch.nn.Parameter]:
    return {name: p for name, p in model.named_parameters() if p.requires_grad and p.numel() > 0}
