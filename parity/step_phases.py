"""The numbers of a step's ten phases, computed in float64 from its record, for one step of ours and one of TRL.

Of the step of ours the log-probs, entropies, KL and gradients come from its weights, by transformers; the record gives
ids, masks and rewards. Of TRL's step, whose weights nobody kept, the log-probs are the recorded ones.
Writes fixtures/step-phases/phases.json.
"""

import json
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file
from transformers import AutoModelForCausalLM

FIXTURES = Path(__file__).parent / "fixtures"
OUT = FIXTURES / "step-phases" / "phases.json"


def read(folder: Path) -> tuple[dict, dict]:
    return json.loads((folder / "step.json").read_text()), load_file(folder / "step.safetensors")


def rows(values: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
    return np.split(values, np.cumsum(lengths)[:-1])


def of_update(tensors: dict, key: str, lengths: np.ndarray) -> list[torch.Tensor]:
    """Values of an update by completion; it has them in an order of its own."""
    order = tensors["updates.0.completions"]
    by_place = dict(zip(order.tolist(), rows(tensors[f"updates.0.{key}"], lengths[order])))
    return [torch.tensor(by_place[b], dtype=torch.float64) for b in range(len(lengths))]


def scored_by_weights(folder: Path, prompts, completions, prompt_of, temperature):
    """Log-probs of each completion, log-softmax rows included, with a graph to the weights."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64, attn_implementation="eager").eval()
    whole = []
    for completion, p in zip(completions, prompt_of):
        ids = torch.tensor([*prompts[p], *completion])
        logits = model(ids[None]).logits[0, len(prompts[p]) - 1 : -1]
        whole.append(torch.log_softmax(logits / temperature, -1))
    picked = [row[torch.arange(len(c)), torch.tensor(c.astype(np.int64))] for row, c in zip(whole, completions)]
    return model, whole, picked


def layer_of(name: str) -> str:
    parts = name.split(".")
    return ".".join(parts[: parts.index("layers") + 2]) if "layers" in parts else name


def norms(model, loss: torch.Tensor) -> dict:
    model.zero_grad()
    loss.backward(retain_graph=True)
    groups: dict[str, float] = {}
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            groups[layer_of(name)] = groups.get(layer_of(name), 0.0) + float((parameter.grad**2).sum())
    return {"norm": sum(groups.values()) ** 0.5, "groups": {name: square**0.5 for name, square in groups.items()}}


def phases(folder: Path, weights: Path | None = None, reference: Path | None = None) -> dict:
    record, tensors = read(folder)
    declared = record["declared"]
    prompts = rows(tensors["prompts.ids"], tensors["prompts.lengths"])
    lengths = tensors["completions.lengths"]
    completions = rows(tensors["completions.ids"], lengths)
    prompt_of = tensors["completions.prompt"]
    masks = [torch.tensor(m.astype(np.float64)) for m in rows(tensors["scored.mask"], lengths)]
    temperature = declared["rollout"]["temperature"]
    model = None
    if weights:
        model, whole, policy = scored_by_weights(weights, prompts, completions, prompt_of, temperature)
        _, others, ref = scored_by_weights(reference, prompts, completions, prompt_of, temperature)
        ref = [row.detach() for row in ref]
        entropies = [-(row.exp() * row).sum(-1).detach() for row in whole]
        full = [(row.exp() * (row - other.detach())).sum(-1).detach() for row, other in zip(whole, others)]
    else:
        ref = [torch.tensor(r, dtype=torch.float64) for r in rows(tensors["scored.referenceLogprobs"], lengths)]
        policy, entropies = (of_update(tensors, key, lengths) for key in ("policyLogprobs", "entropies"))
        full = None

    # Rewards and advantages.
    values = tensors["rewards.values"].reshape(len(record["rewards"]["names"]), -1)
    totals = np.array(record["rewards"]["weights"]) @ values
    advantages = np.zeros(len(totals))
    for p in range(len(prompts)):
        own = totals[prompt_of == p]
        deviation = own.std(ddof=declared["advantage"]["ddof"])
        advantages[prompt_of == p] = (own - own.mean()) / (deviation + declared["advantage"]["epsilon"])

    # The loss: grpo is a mean over completions of means over tokens, dapo a mean over tokens.
    counts = [float(m.sum()) for m in masks]
    if declared["objective"]["loss"] == "grpo":
        token_weights = [1 / (len(counts) * count) for count in counts]
    else:
        token_weights = [1 / sum(counts)] * len(counts)
    beta = declared["kl"]["beta"]
    # A KL that is multiplied by the ratio, which is 1 here, has a slope by it as well.
    corrected = float(declared["kl"].get("biasCorrected", False))
    ratio = [torch.exp(row - row.detach()) for row in policy]
    apart = [r - row for r, row in zip(ref, policy)]
    k3 = [d.exp() - d - 1 for d in apart]
    policy_parts = [
        -(w * a * r * m).sum() for w, a, r, m in zip(token_weights, advantages.tolist(), ratio, masks)
    ]
    kl_parts = [beta * (w * k * m).sum() for w, k, m in zip(token_weights, k3, masks)]
    mean = lambda values: (sum((v * m).sum() for v, m in zip(values, masks)) / sum(counts)).item()
    result = {
        "promptIds": [len(p) for p in prompts],
        "distinct": [len({c.tobytes() for c, q in zip(completions, prompt_of) if q == p}) for p in range(len(prompts))],
        "shortest": int(lengths.min()),
        "longest": int(lengths.max()),
        "cut": sum(f == "length" for f in record["completions"]["finish"]),
        "entropy": float(torch.cat(entropies).mean()),
        "rewards": values.mean(1).tolist(),
        "totals": totals.tolist(),
        "advantages": advantages.tolist(),
        "signal": [bool(np.ptp(totals[prompt_of == p]) > 0) for p in range(len(prompts))],
        "logprobs": [(row * m).sum().item() for row, m in zip(policy, masks)],
        "referenceLogprobs": [(row * m).sum().item() for row, m in zip(ref, masks)],
        "policyLosses": [part.item() for part in policy_parts],
        "klLosses": [part.item() for part in kl_parts],
        "loss": (sum(policy_parts) + sum(kl_parts)).item(),
        "kl": {
            "k1": mean([-d for d in apart]),
            "k2": mean([d**2 / 2 for d in apart]),
            "k3": mean(k3),
            **({"full": mean(full)} if full else {}),
        },
        "policySlopes": [-a * w for a, w in zip(advantages.tolist(), token_weights)],
        "klSlopes": [(beta * w * (1 - d.exp() + corrected * k)).tolist() for w, d, k in zip(token_weights, apart, k3)],
    }
    if model is None:
        gradient = {"norm": record["updates"][0]["gradNorm"]}
    else:
        policy_loss, kl_loss = sum(policy_parts), sum(kl_parts)
        gradient = norms(model, policy_loss + kl_loss)
        result["gradientParts"] = {"policy": norms(model, policy_loss), "kl": norms(model, kl_loss)}
    limit = declared["optimizer"]["maxGradNorm"]
    result["gradient"] = gradient
    result["clippedBy"] = min(1.0, limit / (gradient["norm"] + 1e-6)) if limit else None
    return result


def main() -> None:
    ours = FIXTURES / "step-phases" / "ours"
    torch.set_default_dtype(torch.float64)
    found = {
        "ours": phases(ours, ours / "weights", FIXTURES / "models" / "qwen2"),
        "trl": phases(FIXTURES / "trl-run" / "clean" / "steps" / "000002"),
    }
    OUT.write_text(json.dumps(found) + "\n")
    print(OUT, OUT.stat().st_size, found["ours"]["gradient"]["norm"], found["ours"]["kl"])


if __name__ == "__main__":
    main()
