"""Features of an architecture, each as the function that gives the same model without it."""

import copy
from collections.abc import Callable

import torch
from transformers import PreTrainedModel

Feature = Callable[[PreTrainedModel], PreTrainedModel]


def with_config(**changes) -> Feature:
    """The same weights under another configuration."""

    def switch_off(model: PreTrainedModel) -> PreTrainedModel:
        config = copy.deepcopy(model.config)
        for key, value in changes.items():
            assert hasattr(config, key), key
            setattr(config, key, value)
        other = type(model)(config).eval()
        other.load_state_dict(model.state_dict())
        return other

    return switch_off


def without_modules(name: str) -> Feature:
    """The modules of that name let everything pass."""

    def switch_off(model: PreTrainedModel) -> PreTrainedModel:
        other = copy.deepcopy(model)
        places = [path for path, _ in other.named_modules() if path.endswith(f".{name}")]
        assert places, name
        for path in places:
            other.set_submodule(path, torch.nn.Identity())
        return other

    return switch_off


def norm_offset(model: PreTrainedModel) -> PreTrainedModel:
    """Norm weights that are read as they are, where the model adds 1."""
    other = copy.deepcopy(model)
    with torch.no_grad():
        for name, parameter in other.named_parameters():
            if name.endswith("norm.weight"):
                parameter.sub_(1)
    return other


def unscaled_embeddings(model: PreTrainedModel) -> PreTrainedModel:
    other = copy.deepcopy(model)
    other.get_input_embeddings().embed_scale.fill_(1)
    return other
