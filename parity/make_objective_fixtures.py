"""Golden vectors of the GRPO objective, computed in float64 by TRL's own code: fixtures/objective.json.

No trainer is built. Advantages run the statements of GRPOTrainer._generate_and_score_completions that turn rewards
into advantages; losses run GRPOTrainer._compute_loss on a stand-in whose model "computes" given log-probs.
"""

import ast
import inspect
import json
import math
import textwrap
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import torch
import trl
from trl.trainer import grpo_trainer
from trl.trainer.grpo_trainer import GRPOTrainer

from objective_cases import LOSS_CASES, REWARD_TABLES

OUT = Path(__file__).parent / "fixtures" / "objective.json"
NAN = float("nan")


def advantage_code():
    """TRL computes advantages in the middle of a long method: this cuts those statements out and compiles them."""
    source = textwrap.dedent(inspect.getsource(GRPOTrainer._generate_and_score_completions))
    body = ast.parse(source).body[0].body
    targets = [ast.unparse(node.targets[0]) if isinstance(node, ast.Assign) else "" for node in body]
    first = targets.index("unscorable_mask")
    last = next(i for i, node in enumerate(body) if "nan_to_num" in ast.unparse(node) and targets[i] == "advantages")
    return compile(ast.Module(body[first : last + 1], type_ignores=[]), "trl advantages", "exec")


def advantages(code, table: dict, scale: str) -> dict:
    rewards = torch.tensor([[NAN if r is None else r for r in row] for row in table["rewards"]])
    names = dict(
        vars(grpo_trainer),
        self=SimpleNamespace(
            multi_objective_aggregation="sum_then_normalize",
            reward_weights=torch.tensor(table["weights"]),
            scale_rewards=scale,
        ),
        rewards_per_func=rewards,
        num_generations=table["groupSize"],
        device=torch.device("cpu"),
    )
    exec(code, names)
    return {
        **table,
        "scale": scale,
        "advantages": names["advantages"].tolist(),
        "fractionZeroStd": names["is_std_zero"].float().mean().item(),
    }


def trainer_stub(case: dict, logps: torch.Tensor) -> SimpleNamespace:
    entropies = torch.tensor(case["entropies"])
    return SimpleNamespace(
        _get_per_token_logps_and_entropies=lambda *args, **kwargs: (logps, entropies, None),
        args=SimpleNamespace(
            delta=None, use_bias_correction_kl=False, steps_per_generation=case["accumulationSteps"]
        ),
        accelerator=SimpleNamespace(num_processes=1, gather=lambda x: x, reduce=lambda x, reduction: x),
        model=SimpleNamespace(training=True),
        loss_type=case["loss"],
        beta=case["beta"],
        epsilon_low=case["epsilonLow"],
        epsilon_high=case["epsilonHigh"],
        current_gradient_accumulation_steps=case["accumulationSteps"],
        importance_sampling_level="token",
        top_entropy_quantile=1.0,
        off_policy_mask_threshold=None,
        use_vllm=False,
        aux_loss_enabled=False,
        _entropy_bonus_enabled=False,
        _metrics={"train": defaultdict(list)},
    )


def loss(case: dict) -> dict:
    logps = torch.tensor(case["logps"], requires_grad=True)
    B, C = logps.shape
    inputs = {
        "prompt_ids": torch.zeros(B, 1, dtype=torch.long),
        "prompt_mask": torch.ones(B, 1, dtype=torch.long),
        "completion_ids": torch.zeros(B, C, dtype=torch.long),
        "completion_mask": torch.tensor(case["mask"]),
        "advantages": torch.tensor(case["advantages"]),
        "num_items_in_batch": torch.tensor(case["windowTokens"]),
        "ref_per_token_logps": torch.tensor(case["refLogps"]),
    }
    if case["oldLogps"] is not None:
        inputs["old_per_token_logps"] = torch.tensor(case["oldLogps"])
    stub = trainer_stub(case, logps)
    value = GRPOTrainer._compute_loss(stub, None, inputs)
    value.backward()
    metrics = {name: found[0] for name, found in stub._metrics["train"].items()}
    return {
        **case,
        "expectedLoss": value.item(),
        "expectedGradient": logps.grad.tolist(),
        "expectedMetrics": {name: None if math.isnan(x) else x for name, x in metrics.items()},
    }


def main() -> None:
    torch.set_default_dtype(torch.float64)
    code = advantage_code()
    fixture = {
        "trl": trl.__version__,
        "torch": torch.__version__.split("+")[0],
        "advantages": [
            advantages(code, table, scale) for table in REWARD_TABLES for scale in ("group", "batch", "none")
        ],
        "losses": [loss(case) for case in LOSS_CASES],
    }
    OUT.parent.mkdir(parents=True, exist_ok=True)
    # One case a line: a changed case is then one changed line.
    parts = [f'"{key}": {json.dumps(fixture[key], allow_nan=False)}' for key in ("trl", "torch")]
    for key in ("advantages", "losses"):
        rows = ",\n".join(json.dumps(row, allow_nan=False) for row in fixture[key])
        parts.append(f'"{key}": [\n{rows}\n]')
    OUT.write_text("{" + ",\n".join(parts) + "}\n")
    print(OUT.name, len(fixture["advantages"]), "advantage cases,", len(fixture["losses"]), "loss cases")


if __name__ == "__main__":
    main()
