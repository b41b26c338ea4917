"""A sample of every trained tensor."""

from __future__ import annotations

from itertools import islice

import torch

# Elements of each tensor that are compared before and after an update.
SAMPLED_ELEMENTS = 4096
# Tensors of which the optimizer's count is read: a count may lie on another device.
COUNTED = 4


def sample_of(tensor: torch.Tensor) -> torch.Tensor:
    """A strided copy, of an odd stride so as not to stay in one column."""
    return tensor.detach().reshape(-1)[:: (tensor.numel() // SAMPLED_ELEMENTS) | 1].clone()


def counts_of(trainer) -> dict[str, float]:
    """The updates that the optimizer has counted, of a few tensors."""
    state = trainer.optimizer.state
    steps = ((name, state[p].get("step")) for name, p in trained(trainer.model).items() if p in state)
    return dict(islice(((name, float(step)) for name, step in steps if step is not None), COUNTED))


def are_others(model, left: dict[str, torch.Tensor]) -> bool:
    """Whether a trained tensor is another than these samples of it; NaN equals itself."""
    own = trained(model)
    pairs = [(sample_of(own[name]), sample) for name, sample in left.items() if name in own]
    return any(not one.nan_to_num().equal(other.nan_to_num()) for one, other in pairs)


def trained(model) -> dict[str, torch.nn.Parameter]:
    return {name: p for name, p in model.named_parameters() if p.requires_grad and p.numel() > 0}
