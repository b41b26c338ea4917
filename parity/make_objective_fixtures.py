"""Golden vectors of the GRPO objective, computed in float64 by TRL's own code: fixtures/objective.json."""

import json
from pathlib import Path

import torch
import trl

from objective_cases import LEAKING, LOSS_CASES, MORE_REWARD_TABLES, REWARD_TABLES
from objective_matrix import ADAPTIVE, CASES, SETTINGS, case
from trl_objective import adaptive_entropy, advantages, in_float64, loss

OUT = Path(__file__).parent / "fixtures" / "objective.json"
SCALES = ("group", "batch", "none")


def advantage_row(table: dict, scale: str) -> dict:
    made = advantages(table, scale)
    return {
        **table,
        "scale": scale,
        "advantages": made["advantages"],
        "fractionZeroStd": made["metrics"]["frac_reward_zero_std"],
    }


def advantage_case(table: dict, scale: str, aggregation: str, dtype=torch.float64) -> dict:
    """In float64, or in float32 as TRL runs: there equal rewards leak an advantage."""
    made = advantages(table, scale, aggregation, dtype)
    return {
        "name": f"{table['name']}, {scale if aggregation == 'sum_then_normalize' else aggregation}",
        "dtype": str(dtype).removeprefix("torch."),
        "scale_rewards": scale,
        "multi_objective_aggregation": aggregation,
        "num_generations": table["groupSize"],
        "reward_weights": table["weights"],
        "rewardsPerFunction": table["rewards"],
        "expectedAdvantages": made["advantages"],
        "expectedMetrics": made["metrics"],
    }


def loss_row(row: dict) -> dict:
    """A case of `losses`, which has names of its own."""
    steps = row["accumulationSteps"]
    made = loss(
        {
            **SETTINGS,
            "current_gradient_accumulation_steps": steps,
            "steps_per_generation": steps,
            "loss_type": row["loss"],
            "beta": row["beta"],
            "epsilon": row["epsilonLow"],
            "epsilon_high": row["epsilonHigh"],
            "num_items_in_batch": row["windowTokens"],
            "completionMask": row["mask"],
            "toolMask": None,
            "truncated": None,
            "samplingLogps": None,
            **{name: row[name] for name in ("logps", "oldLogps", "refLogps", "entropies", "advantages")},
        }
    )
    return {**row, **{name: made[name] for name in ("expectedLoss", "expectedGradient", "expectedMetrics")}}


def main() -> None:
    in_float64()
    tables = REWARD_TABLES + MORE_REWARD_TABLES
    fixture = {
        "trl": trl.__version__,
        "torch": torch.__version__.split("+")[0],
        "advantages": [advantage_row(table, scale) for table in REWARD_TABLES for scale in SCALES],
        "losses": [loss_row(row) for row in LOSS_CASES],
        "advantageCases": [
            *(advantage_case(table, scale, "sum_then_normalize") for table in tables for scale in SCALES),
            *(advantage_case(table, "group", "normalize_then_sum") for table in tables),
            *(
                advantage_case(table, scale, "sum_then_normalize", torch.float32)
                for table in MORE_REWARD_TABLES
                for scale in SCALES
                if table["name"] in LEAKING
            ),
        ],
        "cases": [made | loss(made) for made in CASES],
        "adaptiveEntropy": [
            {**settings, "windows": adaptive_entropy(settings, case("grpo", "adaptive"))} for settings in ADAPTIVE
        ],
    }
    OUT.parent.mkdir(parents=True, exist_ok=True)
    # One case a line: a changed case is then one changed line.
    parts = [f'"{key}": {json.dumps(fixture[key], allow_nan=False)}' for key in ("trl", "torch")]
    for key in ("advantages", "losses", "advantageCases", "cases", "adaptiveEntropy"):
        rows = ",\n".join(json.dumps(row, allow_nan=False, separators=(",", ":")) for row in fixture[key])
        parts.append(f'"{key}": [\n{rows}\n]')
    OUT.write_text("{" + ",\n".join(parts) + "}\n")
    print(f"{OUT.name}: {OUT.stat().st_size} bytes, {len(fixture['cases'])} cases")


if __name__ == "__main__":
    main()
