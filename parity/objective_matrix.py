"""The cases of `cases` in objective.json: every choice of TRL's loss with each loss it serves, and some pairs.

A case carries GRPOConfig's own names and values, and the inputs of `_compute_loss`.
"""

from objective_cases import EMPTY, SMALL, SMALL_SAMPLING, ragged, ragged_sampling

LOSSES = ("grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "luspo", "vespo")
CLIPPED = ("grpo", "bnpo", "dr_grpo", "dapo", "luspo")
MODES = ("token_truncate", "token_mask", "sequence_truncate", "sequence_mask")

SETTINGS = {
    "trainer": "GRPOTrainer",
    "training": True,
    "importance_sampling_level": "token",
    "epsilon": 0.2,
    "epsilon_high": 0.28,
    "delta": None,
    "beta": 0.0,
    "use_bias_correction_kl": False,
    "top_entropy_quantile": 1.0,
    "entropy_coef": 0.0,
    "off_policy_mask_threshold": None,
    "vllm_importance_sampling_mode": None,  # None: no correction
    "vllm_importance_sampling_clip_min": None,
    "vllm_importance_sampling_clip_max": None,
    "sapo_temperature_pos": 1.0,
    "sapo_temperature_neg": 1.05,
    "vespo_k_pos": 2.0,
    "vespo_lambda_pos": 3.0,
    "vespo_k_neg": 3.0,
    "vespo_lambda_neg": 2.0,
    "mask_truncated_completions": False,
    "max_completion_length": 8,
    "current_gradient_accumulation_steps": 1,
    "steps_per_generation": 1,
}


def batch_of(name: str) -> dict:
    if name in ("small", "empty"):
        return {**(SMALL if name == "small" else EMPTY), "samplingLogps": SMALL_SAMPLING}
    seed = int(name.removeprefix("ragged "))
    return {**ragged(seed), "samplingLogps": ragged_sampling(seed)}


def case(loss: str, what: str, batch: str = "small", *, old: bool = True, sampling: bool = False, **changes) -> dict:
    """`completionMask`: which positions are tokens; `toolMask`: which of them the model wrote; `truncated`: which
    rows do not end; `num_items_in_batch` None: as many as the loss mask has."""
    values = batch_of(batch)
    cispo = {"epsilon_high": 1.25} if loss == "cispo" else {}
    longer = {"max_completion_length": 16} if batch.startswith("ragged") else {}
    sampling = sampling or changes.get("vllm_importance_sampling_mode") is not None
    return {
        "name": f"{loss}: {what}, {batch}",
        "loss_type": loss,
        **(SETTINGS | cispo | longer | {"num_items_in_batch": None}),
        "logps": values["logps"],
        "oldLogps": values["oldLogps"] if old else None,
        "refLogps": values["refLogps"] if changes.get("beta") else None,
        "entropies": values["entropies"],
        "samplingLogps": values["samplingLogps"] if sampling else None,
        "completionMask": values["mask"],
        "toolMask": None,
        "truncated": None,
        "advantages": values["advantages"],
        **changes,
    }


def both_bounds(mode: str, least: float | None, most: float | None) -> dict:
    return {
        "vllm_importance_sampling_mode": mode,
        "vllm_importance_sampling_clip_min": least,
        "vllm_importance_sampling_clip_max": most,
    }


SEQUENCE = {"importance_sampling_level": "sequence"}
KL = {"beta": 0.04}
CORRECTED = {"beta": 0.04, "use_bias_correction_kl": True}
FOURTH = {"current_gradient_accumulation_steps": 4, "steps_per_generation": 4, "num_items_in_batch": 30}
TRUNCATED = {"mask_truncated_completions": True, "truncated": [True, False, False, True, False, False]}
GAMMA = {"vespo_k_pos": 1.0, "vespo_lambda_pos": 1.5, "vespo_k_neg": 0.5, "vespo_lambda_neg": 4.0}
# Holes inside completions, one completion that the model did not write at all.
TOOL = {"toolMask": [[1, 1, 0, 0, 1, 1, 1, 0, 1], [1] * 9, [1, 0, 0, 1, 1, 1, 1, 1, 1], [0] * 9, [1] * 9, [1] * 9]}
HALF_UNSCORED = {
    "samplingLogps": [
        [None if (i + t) % 3 == 0 else x for t, x in enumerate(row)] for i, row in enumerate(SMALL_SAMPLING)
    ]
}

EACH = [
    variant
    for i, loss in enumerate(LOSSES)
    # TRL refuses vespo with a correction by sequences.
    for mode in ("token_truncate" if loss == "vespo" else MODES[i % 4],)
    for variant in (
        case(loss, "old log-probs stored"),
        case(loss, "on policy", old=False),
        case(loss, "sequence ratio", **SEQUENCE),
        case(loss, "beta", **KL),
        case(loss, "on policy, beta", old=False, **KL),
        case(loss, "bias-corrected KL", **CORRECTED),
        case(loss, "sequence ratio, bias-corrected KL", **SEQUENCE, **CORRECTED),
        case(loss, "top entropy half", top_entropy_quantile=0.5),
        case(loss, "entropy bonus", entropy_coef=0.1),
        case(loss, "one of four micro-batches", **FOURTH),
        case(loss, "off-policy mask", f"ragged {4 + 3 * (i % 2)}", off_policy_mask_threshold=0.1),
        case(loss, f"sampler correction {mode}", **both_bounds(mode, None, 3.0)),
        case(loss, "old log-probs stored", "ragged 1"),
        case(loss, "sequence ratio, beta", "ragged 2", **SEQUENCE, **KL),
        case(loss, "truncated masked", f"ragged {1 + i % 2}", **TRUNCATED),
    )
]

CLIPS = [
    variant
    for loss in CLIPPED
    for variant in (
        case(loss, "delta", delta=1.5),
        case(loss, "delta, sequence ratio", "ragged 2", delta=1.3, **SEQUENCE),
    )
] + [
    case("cispo", "cap of 5", "ragged 1", epsilon_high=5.0),
    case("cispo", "cap of 1.02, sequence ratio", epsilon_high=1.02, **SEQUENCE),
    case("grpo", "narrow clip, beta", "ragged 2", epsilon=0.05, epsilon_high=0.1, **KL),
    case("grpo", "GSPO's clip, sequence ratio", "ragged 1", epsilon=3e-4, epsilon_high=4e-4, **SEQUENCE),
    case("sapo", "other temperatures", "ragged 1", sapo_temperature_pos=0.6, sapo_temperature_neg=2.5),
    case("vespo", "other k and lambda", "ragged 1", **GAMMA),
]

SAMPLER = [
    case(loss, f"sampler correction {mode} in 0.5 … 1.2", batch, **both_bounds(mode, 0.5, 1.2))
    for loss, batch in (("grpo", "ragged 1"), ("dapo", "small"), ("dapo", "ragged 2"))
    for mode in MODES
] + [
    case("vespo", "sampler correction token_mask in 0.5 … 2", "ragged 1", **both_bounds("token_mask", 0.5, 2.0)),
    case("dapo", "sampler correction without a lower bound", **both_bounds("token_truncate", None, 3.0)),
    case("dapo", "sampler correction without a lower bound, beta", **both_bounds("token_truncate", None, 3.0), **KL),
    case("dapo", "sampler correction without an upper bound", **both_bounds("token_truncate", 0.9, None)),
    case("dapo", "some tokens without a sampler log-prob", **both_bounds("token_truncate", None, 3.0), **HALF_UNSCORED),
    case("dapo", "sampler correction and ratio by sequence", "ragged 1", **both_bounds(MODES[2], 0.5, 2.0), **SEQUENCE),
    case("grpo", "off-policy by the sampler's log-probs", "ragged 2", sampling=True, off_policy_mask_threshold=0.02),
]

PAIRS = [
    case(loss, "top entropy 0.8, entropy bonus", "ragged 1", top_entropy_quantile=0.8, entropy_coef=0.05)
    for loss in ("grpo", "dapo", "sapo")
] + [
    case("dapo", "top entropy 0.2, beta", "ragged 2", top_entropy_quantile=0.2, **KL),
    case("bnpo", "entropy bonus, one of four micro-batches", entropy_coef=0.1, **FOURTH),
    case("dapo", "entropy bonus, one of four micro-batches", entropy_coef=0.1, **FOURTH),
    case("grpo", "negative entropy bonus", "ragged 1", entropy_coef=-0.1),
    case("grpo", "off-policy mask, beta, delta", "ragged 4", off_policy_mask_threshold=0.1, delta=1.4, **KL),
    case("dapo", "bias-corrected KL, delta", "ragged 1", delta=1.2, **CORRECTED),
    case("dapo", "truncated masked, beta, entropy bonus", "ragged 1", entropy_coef=0.1, **TRUNCATED, **KL),
    case("dapo", "tokens of a tool, beta", "ragged 1", **TOOL, **KL),
    case("grpo", "tokens of a tool, sequence ratio", "ragged 2", **TOOL, **SEQUENCE),
    case("dr_grpo", "tokens of a tool", "ragged 1", **TOOL),
    case("bnpo", "evaluation, accumulation 4", training=False, **FOURTH),
    case("dapo", "evaluation, accumulation 4", training=False, **FOURTH),
    # Four steps a generation of which two are an update, and an update of two generations.
    case("dapo", "two of four steps an update", **FOURTH | {"current_gradient_accumulation_steps": 2}),
    case("vespo", "two of four steps an update", **FOURTH | {"current_gradient_accumulation_steps": 2}),
    case("cispo", "two generations an update", **FOURTH | {"current_gradient_accumulation_steps": 8}),
    case("dapo", "twice as many tokens", num_items_in_batch=14),
    *(case(loss, "nothing to train on", "empty", **KL) for loss in LOSSES),
]


def gspo_token(loss: str, what: str, *arguments, **changes) -> dict:
    made = case(loss, what, *arguments, **{"importance_sampling_level": "sequence_token"} | changes)
    return {**made, "name": f"gspo_token {made['name']}", "trainer": "experimental.gspo_token"}


def gmpo(what: str, *arguments, **changes) -> dict:
    made = case("grpo", what, *arguments, **{"epsilon": 0.4, "epsilon_high": 0.4} | changes)
    return {**made, "name": f"gmpo {made['name']}", "trainer": "experimental.gmpo"}


EXPERIMENTAL = [
    gspo_token("grpo", "old log-probs stored"),
    gspo_token("grpo", "beta", "ragged 1", **KL),
    gspo_token("grpo", "narrow clip", "ragged 2", epsilon=0.02, epsilon_high=0.03),
    gspo_token("dapo", "delta", "ragged 1", delta=1.05),
    gmpo("old log-probs stored"),
    gmpo("narrow clip", "ragged 1", epsilon=0.1, epsilon_high=0.15),
    gmpo("beta", "ragged 2", **KL),
    gmpo("top entropy half", "ragged 1", top_entropy_quantile=0.5),
    gmpo("one of four micro-batches", **FOURTH),
]

CASES = EACH + CLIPS + SAMPLER + PAIRS + EXPERIMENTAL

# Skywork-OR1's controller: windows of micro-batches; the entropies fall, then rise.
ADAPTIVE = [
    {
        "name": "coefficient up and down around a target",
        "entropy_coef": 0.01,
        "entropy_coef_min": 0.0,
        "entropy_coef_max": 0.02,
        "entropy_coef_delta": 0.004,
        "entropy_target": 1.2,
        "scales": [1.5, 0.9, 0.7, 0.6, 0.8, 1.4, 1.6, 1.6, 1.6, 1.6, 1.6],
    }
]
