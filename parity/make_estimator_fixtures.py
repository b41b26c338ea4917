"""The log-probs of a masked-diffusion model as its three estimators have them, and the loss and gradients of a GRPO update.

Everything is computed here a second time, in float64: the counted random numbers, which places a pass hides, the passes
themselves (transformers' Qwen 2 of fixtures/models/qwen2, with a mask that hides nothing), and the clipped loss with its
KL. Writes fixtures/estimators.json.
"""

import json
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM

from make_model_fixtures import MODELS

OUT = Path(__file__).parent / "fixtures" / "estimators.json"
MASK_ID, WIDTH, TEMPERATURE = 258, 9, 0.8
SEED, STEP, ITERATION, MASK_STREAM = 42, 7, 2, -3
PROMPT_RATE, RATES = 0.3, (0.2, 0.8)
EPSILON, BETA = 0.5, 0.04
PROMPTS = [[17, 4, 99, 3, 200, 61], [5, 88, 140]]
GROUP = 3
LENGTHS = [9, 4, 1, 6, 9, 2]
ADVANTAGES = [0.7, -0.2, -0.5, 0.4, 0.1, -0.5]
TENSORS = [
    "model.norm.weight",
    "model.layers.0.self_attn.k_proj.bias",
    "model.layers.1.self_attn.q_proj.weight",
]
WORD = (1 << 64) - 1


def uniform(seed: int, *keys: int) -> float:
    """splitmix64 over the seed and the keys, each xored in; its upper 53 bits."""
    z = 0
    for key in (seed, *keys):
        z = ((z ^ (key & WORD)) + 0x9E3779B97F4A7C15) & WORD
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
        z ^= z >> 31
    return (z >> 11) / 2**53


def draw(prompt: int, completion: int, place: int) -> float:
    return uniform(SEED, STEP, MASK_STREAM, ITERATION, prompt, completion, place)


def region_of(b: int) -> list[int]:
    return [int(250 * uniform(1, b, w)) for w in range(WIDTH)]


def plan(estimator: str, b: int) -> list[tuple[list[int], list[int], float]]:
    """Of each pass: the hidden places of the prompt, those of the region, and the weight of what it hides."""
    p, g = divmod(b, GROUP)
    length = len(PROMPTS[p])
    if estimator == "d1":
        return [([i for i in range(length) if draw(p, -1, i) < PROMPT_RATE], list(range(WIDTH)), 1.0)]
    t = RATES[0] + (RATES[1] - RATES[0]) * draw(p, g, -1)
    hidden = [w for w in range(WIDTH) if draw(p, g, w) < t]
    if estimator == "sum_masked":
        own = range(LENGTHS[b])
        least = min(own, key=lambda w: draw(p, g, w))
        return [([], sorted({*hidden, least}), 1.0)]
    others = [w for w in range(WIDTH) if w not in hidden]
    return [([], list(range(WIDTH)), 0.5), ([], hidden, 0.5 / t), ([], others, 0.5 / (1 - t))]


def estimate(model, estimator: str, shifted: bool, b: int) -> dict[int, torch.Tensor]:
    """The log-prob of each token that a pass hides."""
    prompt, region = PROMPTS[b // GROUP], region_of(b)
    sums: dict[int, torch.Tensor] = {}
    for hidden_prompt, hidden, weight in plan(estimator, b):
        ids = list(prompt) + list(region)
        for i in hidden_prompt:
            ids[i] = MASK_ID
        for w in hidden:
            ids[len(prompt) + w] = MASK_ID
        open_mask = torch.zeros(1, 1, len(ids), len(ids), dtype=torch.float64)
        logits = model(input_ids=torch.tensor([ids]), attention_mask=open_mask, use_cache=False).logits[0]
        logprobs = torch.log_softmax(logits / TEMPERATURE, -1)
        for w in hidden:
            if w < LENGTHS[b]:
                own = weight * logprobs[len(prompt) + w - (1 if shifted else 0), region[w]]
                sums[w] = sums[w] + own if w in sums else own
    return sums


def case(model, estimator: str, shifted: bool) -> dict:
    model.zero_grad()
    terms, rows = [], []
    for b, length in enumerate(LENGTHS):
        logprobs = estimate(model, estimator, shifted, b)
        row = {"plan": [], "logprobs": [], "old": [], "reference": []}
        for hidden_prompt, hidden, weight in plan(estimator, b):
            row["plan"].append({"prompt": hidden_prompt, "region": hidden, "weight": weight})
        for w in range(length):
            own = logprobs.get(w)
            value = 0.0 if own is None else own.item()
            old = value + 1.5 * (uniform(3, b, w) - 0.5)
            reference = value + uniform(4, b, w) - 0.5
            row["logprobs"].append(value)
            row["old"].append(old)
            row["reference"].append(reference)
            if own is None:
                continue
            ratio = torch.exp(own - old)
            gain = torch.minimum(ratio * ADVANTAGES[b], ratio.clamp(1 - EPSILON, 1 + EPSILON) * ADVANTAGES[b])
            d = reference - own
            terms.append(BETA * (torch.exp(d) - d - 1) - gain)
        rows.append(row)
    loss = torch.stack(terms).mean()
    loss.backward()
    gradients = {name: p.grad for name, p in model.named_parameters()}
    return {
        "estimator": estimator,
        "shifted": shifted,
        "completions": rows,
        "loss": loss.item(),
        "gradientNorms": {name: g.norm().item() for name, g in gradients.items()},
        "gradients": {name: [float(f"{x:.9g}") for x in gradients[name].flatten().tolist()] for name in TENSORS},
    }


def main() -> None:
    model = AutoModelForCausalLM.from_pretrained(MODELS / "qwen2", dtype=torch.float64, attn_implementation="eager")
    model.eval()
    # The last token must reach the first place.
    with torch.no_grad():
        both = [
            model(
                input_ids=torch.tensor([[1, 2, last]]),
                attention_mask=torch.zeros(1, 1, 3, 3, dtype=torch.float64),
                use_cache=False,
            ).logits[0, 0]
            for last in (3, 4)
        ]
    assert not torch.allclose(*both)
    cases = [case(model, e, s) for e in ("d1", "coupled", "sum_masked") for s in (False, True)]
    facts = {
        "maskId": MASK_ID,
        "temperature": TEMPERATURE,
        "seed": SEED,
        "step": STEP,
        "iteration": ITERATION,
        "promptMaskRate": PROMPT_RATE,
        "maskRates": RATES,
        "epsilon": EPSILON,
        "beta": BETA,
        "prompts": PROMPTS,
        "regions": [region_of(b) for b in range(len(LENGTHS))],
        "lengths": LENGTHS,
        "advantages": ADVANTAGES,
        "cases": cases,
    }
    OUT.write_text(json.dumps(facts) + "\n")


if __name__ == "__main__":
    main()
