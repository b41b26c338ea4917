"""Runs TRL's own objective on given numbers, in float64, without building a trainer.

The methods of GRPOTrainer that compute a loss run on a stand-in whose model "computes" given log-probs. What TRL
computes in the middle of `_generate_and_score_completions` is cut out of its source and compiled.
"""

import ast
import inspect
import math
import textwrap
from collections import defaultdict
from types import SimpleNamespace

import torch
from trl.experimental.gmpo import GMPOTrainer
from trl.experimental.gspo_token import GRPOTrainer as GspoTokenTrainer
from trl.trainer import grpo_trainer
from trl.trainer.grpo_trainer import GRPOTrainer

NAN = float("nan")
CPU = torch.device("cpu")
TRAINERS = {
    "GRPOTrainer": GRPOTrainer,
    "experimental.gspo_token": GspoTokenTrainer,
    "experimental.gmpo": GMPOTrainer,
}


def in_float64() -> None:
    """TRL rounds clip metrics and the entropy threshold to float32 (`.float()`); here nothing is rounded."""
    torch.set_default_dtype(torch.float64)
    torch.Tensor.float = torch.Tensor.double


def statements() -> list[ast.stmt]:
    source = textwrap.dedent(inspect.getsource(GRPOTrainer._generate_and_score_completions))
    return ast.parse(source).body[0].body


def compiled(nodes: list[ast.stmt]):
    return compile(ast.Module(body=nodes, type_ignores=[]), "trl", "exec")


def first_index(nodes: list[ast.stmt], text: str) -> int:
    return next(i for i, node in enumerate(nodes) if ast.unparse(node).startswith(text))


def advantage_code():
    """From the rewards to the logged statistics of them."""
    body = statements()
    return compiled(body[first_index(body, "unscorable_mask") : first_index(body, "self._logs['prompt']")])


def truncation_code():
    body = statements()
    first = first_index(body, "if self.mask_truncated_completions")
    return compiled(body[first : first_index(body, "num_items_in_batch") + 1])


def sampler_code():
    """The importance-sampling ratio of the sampler, and its metrics."""
    correction = "if self.use_vllm and self.vllm_importance_sampling_correction"
    body = statements()
    scoring = next(n for n in body if isinstance(n, ast.With) and "old_per_token_logps" in ast.unparse(n))
    return compiled([scoring.body[first_index(scoring.body, correction)], body[first_index(body, correction)]])


ADVANTAGES, TRUNCATION, SAMPLER = advantage_code(), truncation_code(), sampler_code()

ALONE = SimpleNamespace(
    num_processes=1,
    process_index=0,
    sync_gradients=True,
    gather=lambda x: x,
    gather_for_metrics=lambda x: x,
    reduce=lambda x, reduction: x,
    pad_across_processes=lambda x, dim, pad_index: x,
)


def first_of(metrics: dict) -> dict:
    """Each metric's only value; NaN, which JSON lacks, as null."""
    return {name: None if math.isnan(found[0]) else found[0] for name, found in metrics.items()}


def advantages(table: dict, scale: str, aggregation: str = "sum_then_normalize", dtype=torch.float64) -> dict:
    rewards = torch.tensor([[NAN if r is None else r for r in row] for row in table["rewards"]], dtype=dtype)
    stub = SimpleNamespace(
        model=SimpleNamespace(training=True),
        accelerator=ALONE,
        multi_objective_aggregation=aggregation,
        reward_weights=torch.tensor(table["weights"], dtype=dtype),
        reward_funcs=table["weights"],
        reward_func_names=[f"reward_{k}" for k in range(len(table["weights"]))],
        scale_rewards=scale,
        _metrics={"train": defaultdict(list)},
    )
    names = dict(
        vars(grpo_trainer),
        self=stub,
        mode="train",
        rewards_per_func=rewards,
        num_generations=table["groupSize"],
        device=CPU,
        prompts=table["rewards"],
    )
    exec(ADVANTAGES, names)
    return {"advantages": names["advantages"].tolist(), "metrics": first_of(stub._metrics["train"])}


def stand_in(case: dict, logps: torch.Tensor, entropies: torch.Tensor) -> SimpleNamespace:
    """Every attribute that `_compute_loss` reads, under GRPOConfig's names; a missing one raises."""
    corrected = case["vllm_importance_sampling_mode"] is not None
    stub = SimpleNamespace(
        _get_per_token_logps_and_entropies=lambda *args, **kwargs: (logps, entropies, None),
        get_off_policy_mask=GRPOTrainer.get_off_policy_mask,
        get_gamma_weights=GRPOTrainer.get_gamma_weights,
        args=SimpleNamespace(**case),
        accelerator=ALONE,
        model=SimpleNamespace(training=case["training"]),
        epsilon_low=case["epsilon"],
        use_vllm=corrected,
        vllm_importance_sampling_correction=corrected,
        use_adaptive_entropy=False,
        aux_loss_enabled=False,
        _entropy_bonus_enabled=case["entropy_coef"] != 0,
        _metrics={mode: defaultdict(list) for mode in ("train", "eval")},
    )
    for name, value in case.items():
        if not hasattr(stub, name):
            setattr(stub, name, value)
    stub.get_high_entropy_mask = lambda *args: GRPOTrainer.get_high_entropy_mask(stub, *args)
    return stub


def masked_inputs(case: dict, stub: SimpleNamespace) -> dict:
    """The masks after truncated rows are left out, and the number of loss tokens, by TRL's code."""
    completion_mask = torch.tensor(case["completionMask"])
    tool_mask = None if case["toolMask"] is None else torch.tensor(case["toolMask"])
    end, other = 1, 2
    truncated = case["truncated"] or [False] * len(completion_mask)
    stub._tokenizer = SimpleNamespace(eos_token_id=end, pad_token_id=0)
    names = dict(
        vars(grpo_trainer),
        self=stub,
        device=CPU,
        completion_mask=completion_mask,
        tool_mask=tool_mask,
        completion_ids_list=[[other if cut else end] for cut in truncated],
    )
    exec(TRUNCATION, names)
    items = case["num_items_in_batch"]
    return {
        "completion_mask": names["completion_mask"],
        **({} if tool_mask is None else {"tool_mask": names["tool_mask"]}),
        "loss_mask": names["loss_mask"],
        "num_items_in_batch": names["num_items_in_batch"] if items is None else torch.tensor(items),
    }


def sampler_inputs(case: dict, stub: SimpleNamespace, inputs: dict) -> dict:
    if case["samplingLogps"] is None:
        return {}
    sampling = torch.tensor([[NAN if x is None else x for x in row] for row in case["samplingLogps"]])
    if not stub.use_vllm:
        return {"sampling_per_token_logps": sampling}
    names = dict(
        vars(grpo_trainer),
        self=stub,
        mode="train",
        device=CPU,
        completion_mask=inputs["completion_mask"],
        tool_mask=inputs.get("tool_mask"),
        old_per_token_logps=inputs["old_per_token_logps"],
        sampling_per_token_logps=sampling,
    )
    exec(SAMPLER, names)
    return {
        "sampling_per_token_logps": sampling,
        "importance_sampling_ratio": names["vllm_importance_sampling_ratio"],
    }


def loss(case: dict) -> dict:
    """Value, gradients and metrics of one micro-batch."""
    logps = torch.tensor(case["logps"], requires_grad=True)
    bonus = case["entropy_coef"] != 0
    entropies = torch.tensor(case["entropies"], requires_grad=bonus)
    stub = stand_in(case, logps, entropies)
    masked = masked_inputs(case, stub)
    mask = masked.pop("loss_mask")
    inputs = {
        "prompt_ids": torch.zeros(len(logps), 1, dtype=torch.long),
        "prompt_mask": torch.ones(len(logps), 1, dtype=torch.long),
        "completion_ids": torch.zeros(logps.shape, dtype=torch.long),
        "advantages": torch.tensor(case["advantages"]),
        **masked,
    }
    if case["oldLogps"] is not None:
        inputs["old_per_token_logps"] = torch.tensor(case["oldLogps"])
    if case["refLogps"] is not None:
        inputs["ref_per_token_logps"] = torch.tensor(case["refLogps"])
    inputs |= sampler_inputs(case, stub, inputs)
    value = TRAINERS[case["trainer"]]._compute_loss(stub, None, inputs)
    value.backward()
    metrics = stub._metrics["train"] | stub._metrics["eval"]
    return {
        "mask": mask.tolist(),
        "num_items_in_batch": masked["num_items_in_batch"].item(),
        "expectedLoss": value.item(),
        "expectedGradient": logps.grad.tolist(),
        "expectedEntropyGradient": entropies.grad.tolist() if bonus else None,
        "expectedMetrics": first_of(metrics),
    }


def adaptive_entropy(settings: dict, case: dict) -> list[dict]:
    """The controller over windows of two micro-batches, whose entropies are the case's times each of `scales`."""
    logps, entropies = torch.tensor(case["logps"]), torch.tensor(case["entropies"])
    stub = stand_in(case, logps, entropies)
    for name, value in settings.items():
        setattr(stub.args, name, value)
    stub.use_adaptive_entropy = stub._entropy_bonus_enabled = True
    stub.entropy_coef = settings["entropy_coef"]
    stub._last_world_entropy, stub._entropy_window_stats = math.inf, None
    masked = masked_inputs(case, stub)
    mask = masked.pop("loss_mask")
    windows = []
    for scale in settings["scales"]:
        applied = stub.entropy_coef if stub._last_world_entropy <= settings["entropy_target"] else 0.0
        # Micro-batches of unequal size: the second has row 0 only.
        window = {"entropies": [], "masks": []}
        for last in (False, True):
            stub._get_per_token_logps_and_entropies = lambda *args, **kwargs: (logps, entropies * scale, None)
            stub.accelerator = SimpleNamespace(**vars(ALONE) | {"sync_gradients": last})
            own = mask * torch.tensor([[1], [0]]) if last else mask
            window["entropies"].append((entropies * scale).tolist())
            window["masks"].append(own.tolist())
            GRPOTrainer._compute_loss(
                stub,
                None,
                {
                    "prompt_ids": torch.zeros(len(logps), 1, dtype=torch.long),
                    "prompt_mask": torch.ones(len(logps), 1, dtype=torch.long),
                    "completion_ids": torch.zeros(logps.shape, dtype=torch.long),
                    "advantages": torch.tensor(case["advantages"]),
                    **masked,
                    "completion_mask": own,
                },
            )
        windows.append(
            {
                **window,
                "expectedAppliedCoef": applied,
                "expectedWorldEntropy": stub._last_world_entropy,
                "expectedCoef": stub.entropy_coef,
            }
        )
    return windows
