"""A sample of every trained tensor."""

from __future__ import annotations

import torch

# Elements of each tensor that are compared before and after an update.
SAMPLED_ELEMENTS = 4096


def sample_of(tensor: torch.Tensor) -> torch.Tensor:
    """A strided copy, of an odd stride so as not to stay in one column."""
    return tensor.detach().reshape(-1)[:: (tensor.numel() // SAMPLED_ELEMENTS) | 1].clone()


def are_others(model, left: dict[str, torch.Tensor]) -> bool:
    """Whether a trained tensor is another than these samples of it; NaN equals itself."""
    own = trained(model)
    pairs = [(sample_of(own[name]), sample) for name, sample in left.items() if name in own]
    return any(not one.nan_to_num().equal(other.nan_to_num()) for one, other in pairs)


def trained(model) -> dict[str, torch.nn.Parameter]:
    return {name: p for name, p in model.named_parameters() if p.requires_grad and p.numel() > 0}
