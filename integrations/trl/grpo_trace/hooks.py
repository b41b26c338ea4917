"""The methods of TRL's trainer that a recorder listens to."""

from __future__ import annotations

import inspect

SCORE = "_get_per_token_logps_and_entropies"
# Methods that are listened to: the leading parameters that they must have, and the part of a record that is missing
# without them (None: essential).
HOOKS = {
    "training_step": (("model", "inputs"), None),
    "compute_loss": (("model", "inputs"), None),
    "_generate_and_score_completions": (("inputs",), None),
    "_generate": (("prompts",), "ids as sampled"),
    "_generate_single_turn": (("prompt_ids",), "the sampler's log-probs"),
    "_calculate_rewards": (("inputs", "prompts", "completions"), "rewards and the texts that they saw"),
    SCORE: (
        ("model", "input_ids", "attention_mask", "logits_to_keep"),
        "the policy's log-probs, entropies and all probes",
    ),
}
# Methods that a step consists of: an override of one may change the algorithm.
OVERRIDABLE = (
    *HOOKS,
    "_compute_loss",
    "_prepare_inputs",
    "_tokenize_prompts",
    "_get_train_sampler",
    "get_train_dataloader",
    "create_optimizer",
    "create_scheduler",
)


def offers(base: type, name: str, parameters: tuple[str, ...]) -> bool:
    """Whether TRL's own method has these parameters; an override may have any that take the same call."""
    method = getattr(base, name, None)
    return callable(method) and tuple(inspect.signature(method).parameters)[1 : len(parameters) + 1] == parameters


def signature_of(name: str) -> str:
    return f"{name}({', '.join(HOOKS[name][0])})"
