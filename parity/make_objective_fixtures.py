"""Golden vectors of the GRPO objective, computed in float64 by TRL's own code: fixtures/objective.json."""

import json
from pathlib import Path

import torch
import trl

from objective_cases import LEAKING, REWARD_TABLES
from objective_matrix import ADAPTIVE, CASES, case
from trl_objective import adaptive_entropy, advantages, in_float64, loss

OUT = Path(__file__).parent / "fixtures" / "objective.json"
SCALES = ("group", "batch", "none")


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


def main() -> None:
    in_float64()
    fixture = {
        "trl": trl.__version__,
        "torch": torch.__version__.split("+")[0],
        "advantageCases": [
            *(advantage_case(table, scale, "sum_then_normalize") for table in REWARD_TABLES for scale in SCALES),
            *(advantage_case(table, "group", "normalize_then_sum") for table in REWARD_TABLES),
            *(
                advantage_case(table, scale, "sum_then_normalize", torch.float32)
                for table in LEAKING
                for scale in SCALES
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
    for key in ("advantageCases", "cases", "adaptiveEntropy"):
        rows = ",\n".join(json.dumps(row, allow_nan=False, separators=(",", ":")) for row in fixture[key])
        parts.append(f'"{key}": [\n{rows}\n]')
    OUT.write_text("{" + ",\n".join(parts) + "}\n")
    print(f"{OUT.name}: {OUT.stat().st_size} bytes, {len(fixture['cases'])} cases")


if __name__ == "__main__":
    main()
