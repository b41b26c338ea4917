"""What a masked-diffusion model fills into the places after a prompt, by a plain loop in PyTorch.

The loop is LLaDA's (`generate` and `get_num_transfer_tokens` of ML-GSAI/LLaDA), for one sequence. Its Gumbel noise is
replaced by the counted random numbers of `packages/grpo/src/maths/random.ts`, so that the tokens are the same ones. The
models are those of fixtures/models, which transformers computes with attention both ways. Writes fixtures/denoising.json.
"""

import json
import math
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, TopPLogitsWarper

FIXTURES = Path(__file__).parent / "fixtures"
MASK = 263
WIDTH = 24
# Of the prompt, and of the completion in its group.
KEYS = [5, 0]
MASKED = float("-inf")

# Rounding must change no token, nor which places are filled: a region whose seed comes closer is filled with another.
LEAST_DRAW_GAP = 1e-5
# Of log-probs, by how far the less sure one is from certain: near certainty rounding moves them less.
LEAST_CONFIDENCE_GAP = 2e-4
LEAST_ROUNDING = 5e-6

CASES = [
    dict(temperature=0.0, top_p=1.0, block_length=24, steps=24, remasking="low_confidence"),
    dict(temperature=1.0, top_p=1.0, block_length=8, steps=12, remasking="low_confidence"),
    dict(temperature=0.7, top_p=0.9, block_length=12, steps=10, remasking="low_confidence"),
    dict(temperature=1.0, top_p=1.0, block_length=6, steps=8, remasking="random"),
]


class TooClose(Exception):
    """Rounding could decide."""


def uniform(seed: int, *keys: int) -> float:
    """splitmix64's finalizer over seed and keys: the upper 53 bits as a number in [0, 1)."""
    bits = (1 << 64) - 1
    state = 0
    for key in (seed, *keys):
        state = ((state ^ key) + 0x9E3779B97F4A7C15) & bits
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & bits
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & bits
        state ^= state >> 31
    return (state >> 11) / (1 << 53)


def transfer_counts(masked: int, steps: int) -> list[int]:
    """How many places each step of a block fills."""
    base, remainder = divmod(masked, steps)
    return [base + (i < remainder) for i in range(steps)]


def both_ways(model, ids: list[int]) -> torch.Tensor:
    """[L, V]; every token sees every token."""
    length = len(ids)
    open_mask = torch.zeros(1, 1, length, length)
    with torch.no_grad():
        return model(input_ids=torch.tensor([ids]), attention_mask=open_mask, use_cache=False).logits[0].float()


def draw(logits: torch.Tensor, case: dict, u: float) -> tuple[int, float, float]:
    """The token at u in the distribution, its log-prob at the temperature, and that in the distribution drawn from."""
    allowed = logits.clone()
    allowed[MASK] = MASKED
    if case["temperature"] == 0:
        token = int(allowed.argmax())
        return token, float(logits.double().log_softmax(-1)[token]), 0.0
    plain = (logits.double() / case["temperature"]).log_softmax(-1)
    scores = allowed.double() / case["temperature"]
    if case["top_p"] < 1:
        scores = TopPLogitsWarper(case["top_p"])(None, scores[None])[0]
    sampled = scores.log_softmax(-1)
    cumulative = sampled.exp().cumsum(-1)
    token = int((cumulative > u).int().argmax())
    below = float(cumulative[token] - sampled[token].exp())
    if min(u - below, float(cumulative[token]) - u) < LEAST_DRAW_GAP:
        raise TooClose
    return token, float(plain[token]), float(sampled[token])


def generate(model, prompt: list[int], case: dict, shifted: bool, seed: int) -> dict:
    ids = prompt + [MASK] * WIDTH
    order, logprobs, sampled_logprobs = ([None] * WIDTH for _ in range(3))
    step = 0
    blocks = WIDTH // case["block_length"]
    # As many steps for each block; what does not divide, rounded where the block ends.
    ends = [round(case["steps"] * b / blocks + 1e-9) for b in range(blocks + 1)]
    for block in range(blocks):
        first = block * case["block_length"]
        for count in transfer_counts(case["block_length"], ends[block + 1] - ends[block]):
            logits = both_ways(model, ids)
            found = []
            for place in range(first, first + case["block_length"]):
                if ids[len(prompt) + place] != MASK:
                    continue
                row = logits[len(prompt) + place - (1 if shifted else 0)]
                token, logprob, sampled = draw(row, case, uniform(seed, *KEYS, step, place))
                confidence = (
                    float(row.double().log_softmax(-1)[token])
                    if case["remasking"] == "low_confidence"
                    else uniform(seed, *KEYS, step, place, 1)
                )
                found.append((confidence, place, token, logprob, sampled))
            found.sort(key=lambda one: -one[0])
            if count < len(found):
                last, next_one = found[count - 1][0], found[count][0]
                unsure = -math.expm1(next_one) if case["remasking"] == "low_confidence" else 0
                if last - next_one < max(LEAST_ROUNDING, LEAST_CONFIDENCE_GAP * unsure):
                    raise TooClose
            for _, place, token, logprob, sampled in found[:count]:
                ids[len(prompt) + place] = token
                order[place], logprobs[place], sampled_logprobs[place] = step, logprob, sampled
            step += 1
    return dict(seed=seed, ids=ids[len(prompt) :], order=order, logprobs=logprobs, sampledLogprobs=sampled_logprobs)


def decided(model, prompt: list[int], case: dict, shifted: bool) -> dict:
    for seed in range(100):
        # Greedy ones do not depend on the seed, but on the prompt.
        asked = [*prompt[:-1], (prompt[-1] + seed) % 256]
        try:
            return dict(prompt=asked, **generate(model, asked, case, shifted, seed))
        except TooClose:
            pass
    raise AssertionError(f"rounding may decide with every seed: {case}, shifted {shifted}, {len(prompt)} tokens")


def rounded(value):
    if isinstance(value, float):
        return round(value, 7)
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, list) else value


def main() -> None:
    made = []
    for name in ("qwen2", "qwen3", "llama3"):
        model = AutoModelForCausalLM.from_pretrained(
            FIXTURES / "models" / name, dtype=torch.float32, attn_implementation="eager"
        ).eval()
        prompts = json.loads((FIXTURES / "models" / name / "expected.json").read_text())["prompts"][1:3]
        moved = both_ways(model, prompts[0])[0] - both_ways(model, prompts[0][:-1] + [7])[0]
        assert moved.abs().max() > 0.01, "the first token does not see the last"
        for case in CASES:
            for shifted in (False, True):
                regions = [decided(model, prompt, case, shifted) for prompt in prompts]
                made.append(dict(model=name, shifted=shifted, **case, regions=regions))
    fixture = dict(mask=MASK, width=WIDTH, keys=KEYS[:1], cases=made)
    (FIXTURES / "denoising.json").write_text(json.dumps(rounded(fixture), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
