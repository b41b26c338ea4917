"""Losses that TRL 1.13 has not, in float64 by PyTorch's autograd: fixtures/off-policy.json.

The formulas are those of verl's core_algos.py (dppo_tv, dppo_kl) and rollout_corr_helper.py (k3 by sequence), AReaL's
binary KL in both directions, prime-rl's IPO, and Algorithm 1 of MaxRL; written down here, over padded rows as they are there.
"""

import json
from itertools import product
from pathlib import Path

import torch

from objective_cases import ragged, ragged_sampling

OUT = Path(__file__).parent / "fixtures" / "off-policy.json"
LEVELS = ("token", "sequence", "sequence_mean", "sequence_max")
BOUNDS = {"probability": 0.15, "k3": 0.05, "binary_kl": 0.05}


def tensors(seed: int) -> dict[str, torch.Tensor]:
    """Log-probs of probabilities below 1."""
    batch = ragged(seed)
    named = {"logps": batch["logps"], "old": batch["oldLogps"], "sampling": ragged_sampling(seed)}
    made = {name: torch.tensor(rows).clamp(max=-0.01) for name, rows in named.items()}
    return made | {"mask": torch.tensor(batch["mask"]), "advantages": torch.tensor(batch["advantages"])}


def bernoulli_kl(log_p: torch.Tensor, log_q: torch.Tensor) -> torch.Tensor:
    p, q = log_p.exp(), log_q.exp()
    return p * (log_p - log_q) + (1 - p) * torch.log((1 - p) / (1 - q))


def dppo(batch: dict, divergence: str, low: float, high: float, cap: float) -> torch.Tensor:
    logps, old, advantages = batch["logps"], batch["old"], batch["advantages"].unsqueeze(1)
    with torch.no_grad():
        now, before = logps.exp(), old.exp()
        if divergence == "tv":
            up, down = now - before <= high, now - before >= -low
        else:
            kl = bernoulli_kl(old, logps)
            up, down = (kl <= high) | (now <= before), (kl <= low) | (now >= before)
        weight = torch.where(advantages > 0, up, down) * (logps - old).exp().clamp(max=cap)
    return -advantages * weight * logps


def rejected(batch: dict, measure: str, level: str, bound: float) -> torch.Tensor:
    """The policy gradient of the tokens that are kept, with the ratio of trainer to sampler as their weight."""
    old, sampling, mask = batch["old"], batch["sampling"], batch["mask"]
    ratio = (old - sampling).exp()
    distance = {
        "probability": (old.exp() - sampling.exp()).abs(),
        "k3": ratio - 1 - (old - sampling),
        "binary_kl": torch.maximum(bernoulli_kl(old, sampling), bernoulli_kl(sampling, old)),
    }[measure]
    own = distance * mask
    whole = {
        "token": distance,
        "sequence": own.sum(1, keepdim=True),
        "sequence_mean": own.sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp(min=1),
        "sequence_max": own.max(1, keepdim=True).values,
    }[level]
    return -batch["advantages"].unsqueeze(1) * batch["logps"] * ratio * (whole <= bound)


def case(name: str, seed: int, settings: dict, term) -> dict:
    batch = tensors(seed)
    batch["logps"].requires_grad_()
    loss = (term(batch) * batch["mask"]).sum() / batch["mask"].sum()
    loss.backward()
    return {
        "name": f"{name}, ragged {seed}",
        "settings": settings,
        **{key: batch[key].tolist() for key in ("logps", "old", "sampling", "mask", "advantages")},
        "expectedLoss": loss.item(),
        "expectedGradient": batch["logps"].grad.tolist(),
    }


def main() -> None:
    torch.set_default_dtype(torch.float64)
    cases = []
    for seed, divergence, (low, high) in product((1, 2), ("tv", "kl"), ((0.2, 0.2), (0.01, 0.05))):
        settings = {"policy": f"dppo_{divergence}", "divergenceLow": low, "divergenceHigh": high, "cap": 1.5}
        cases.append(
            case(f"dppo_{divergence} {low} {high}", seed, settings, lambda b: dppo(b, divergence, low, high, 1.5))
        )
    for seed, measure, level in product((1, 2), BOUNDS, LEVELS):
        bound = BOUNDS[measure] * (3 if level == "sequence" else 1)
        correction = {"measure": measure, "level": level, "action": "mask", "max": bound}
        settings = {"policy": "reinforce", "correction": correction}
        cases.append(case(f"{measure} {level}", seed, settings, lambda b: rejected(b, measure, level, bound)))
    groups = torch.randint(0, 2, (12, 8), generator=torch.Generator().manual_seed(0)).double()
    means = groups.mean(1, keepdim=True)
    advantages = torch.where(means > 0, (groups - means) / means, 0.0)
    maxrl = {"rewards": groups.tolist(), "expectedAdvantages": advantages.tolist()}
    OUT.write_text(json.dumps({"torch": torch.__version__.split("+")[0], "cases": cases, "maxrl": maxrl}) + "\n")


main()
