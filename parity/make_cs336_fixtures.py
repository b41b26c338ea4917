"""The tests of CS336's assignment 5, made again in plain PyTorch: fixtures/cs336.json.

Inputs are drawn as the assignment draws them: float32, each after `torch.manual_seed(42)`. Results are computed from
them in float64. PAGE has the numbers that the assignment's snapshots hold, in float32: the script stops when one of ours
differs in a digit.
"""

import json
from pathlib import Path

import tokenizers
import torch
import transformers

HERE = Path(__file__).parent
MODELS = HERE / "fixtures" / "models"
REWARDS = [0.2, 0.5, 0.0, 0.4, 0.9, 0.7, 0.2, 0.0]
ADVANTAGE_EPS = 1e-6
CONSTANT = 42
SEQ_LENGTH = 32

PAGE = {
    "masked_mean": -0.407019,
    "masked_normalize": -9.632784,
    "masked_mean dim 0, NaNs": 260,
    "grpo loss": 0.00440072,
    "sft loss, constant 1": -0.60078377,
    "sft loss, constant 42": -0.0143043,
    "sft gradient, constant 1": -0.25,
}
PAGE_ADVANTAGES = {
    True: [-0.3382, 1.0147, -1.2402, 0.5637, 1.0706, 0.5948, -0.5948, -1.0706],
    False: [-0.075, 0.225, -0.275, 0.125, 0.45, 0.25, -0.25, -0.45],
}

# Texts of our own: the first row's tokens are the fewest, one output has characters of several bytes.
PROMPTS = ["2 + 2 =", "Name three primes:", "What is twelve times twelve?"]
OUTPUTS = [" 4", " 2, 3, 5", " 144 — a gross ✓"]
TEMPLATE = "Task: {instruction}\nAnswer: {response}"
ROWS = [
    {"prompt": "Count to five.", "response": "1, 2, 3, 4, 5"},
    {"prompt": "What does {response} mean?", "response": "It is a place to fill in."},
    {"prompt": "Say hello in German.", "response": "Grüß Gott!"},
    {"prompt": "Is 91 prime?", "response": "No: 91 = 7 × 13."},
]
PAIR = {"prompt": "Is 91 prime?", "responseChosen": "No: 91 = 7 × 13.", "responseRejected": "Yes."}
BETA = 0.5
POLICY, REFERENCE = "qwen2-untied", "qwen2"


def drawn(make, *shape):
    torch.manual_seed(42)
    return make(*shape)


def inputs() -> dict[str, torch.Tensor]:
    log_probs = drawn(torch.randn, 2, 10)
    rewards = drawn(torch.rand, 2, 1)
    return {
        "policyLogProbs": log_probs,
        "oldLogProbs": log_probs + drawn(torch.randn, 2, 10),
        "rawRewards": rewards,
        "advantages": rewards - rewards.mean(dim=0),
        "responseMask": drawn(torch.rand, 2, 10) > 0.5,
        "logits": drawn(torch.randn, 2, 10, 100),
        "mask": drawn(torch.rand, 2, 10, 100) > 0.5,
    }


def case(call: str, names: dict, settings: dict, expected: dict, steps: int | None = None) -> dict:
    """A call with inputs by their names, and what it gives; with `steps` calls of it, the gradient that they leave."""
    return {"call": call, "inputs": names, "settings": settings, "steps": steps, "expected": expected}


def token_loss(kind: str, given: dict, log_probs: torch.Tensor, cliprange: float):
    """[2, 10], and the tokens that were clipped."""
    if kind == "no_baseline":
        return -given["rawRewards"] * log_probs, None
    if kind == "reinforce_with_baseline":
        return -given["advantages"] * log_probs, None
    ratio = torch.exp(log_probs - given["oldLogProbs"])
    free = ratio * given["advantages"]
    bounded = torch.clamp(ratio, 1 - cliprange, 1 + cliprange) * given["advantages"]
    return -torch.where(free <= bounded, free, bounded), bounded < free


def stepped(loss_of, log_probs: torch.Tensor, steps: int) -> dict[str, torch.Tensor]:
    """The loss of one of the steps, and the gradient that they leave together."""
    leaf = log_probs.clone().requires_grad_()
    for _ in range(steps):
        loss = loss_of(leaf)
        loss.backward()
    return {"loss": loss.detach(), "grad": leaf.grad}


def loss_cases(given: dict) -> list[dict]:
    log_probs, keep = given["policyLogProbs"], given["responseMask"]
    cases = []

    def add(call, names, settings, expected, steps=None):
        cases.append(case(call, names, settings, expected, steps))

    add(
        "computeNaivePolicyGradientLoss",
        {"rawRewardsOrAdvantages": "rawRewards", "policyLogProbs": "policyLogProbs"},
        {},
        {"loss": token_loss("no_baseline", given, log_probs, 0)[0]},
    )
    own = {name: name for name in ("policyLogProbs", "advantages", "oldLogProbs")}
    for cliprange in (10.0, 0.1):
        loss, clipped = token_loss("grpo_clip", given, log_probs, cliprange)
        add("computeGrpoClipLoss", own, {"cliprange": cliprange}, {"loss": loss, "clipped": clipped})
    every = {**own, "rawRewards": "rawRewards"}
    for kind in ("no_baseline", "reinforce_with_baseline", "grpo_clip"):
        loss, _ = token_loss(kind, given, log_probs, 0.5)
        settings = {"lossType": kind, "cliprange": 0.5}
        add("computePolicyGradientLoss", every, settings, {"loss": loss})

    def grpo(kind):
        def of(leaf):
            loss, _ = token_loss(kind, given, leaf, 0.1)
            return ((loss * keep).sum(1) / keep.sum(1)).mean() / 2

        return of

    masked = {**every, "responseMask": "responseMask"}
    for kind, steps in (
        ("no_baseline", 1),
        ("reinforce_with_baseline", 1),
        ("grpo_clip", 1),
        ("grpo_clip", 10),
    ):
        settings = {"lossType": kind, "cliprange": 0.1, "gradientAccumulationSteps": 2}
        add("grpoMicrobatchTrainStep", masked, settings, stepped(grpo(kind), log_probs, steps), steps)

    names = {"policyLogProbs": "policyLogProbs", "responseMask": "responseMask"}
    for constant, steps in ((1, 1), (CONSTANT, 1), (1, 10)):
        made = stepped(lambda leaf: -((leaf * keep).sum(1) / constant).mean() / 2, log_probs, steps)
        settings = {"gradientAccumulationSteps": 2, "normalizeConstant": constant}
        add("sftMicrobatchTrainStep", names, settings, made, steps)
    return cases


def masked_cases(given: dict) -> list[dict]:
    tensor, mask = given["logits"], given["mask"]
    cases = []
    for dim in (None, 0, 1, -1):
        axes = {} if dim is None else {"dim": dim}
        total = (tensor * mask).sum(**axes)
        for call, settings, expected in (
            ("maskedMean", axes, total / mask.sum(**axes)),
            ("maskedNormalize", {**axes, "normalizeConstant": CONSTANT}, total / CONSTANT),
        ):
            names = {"tensor": "logits", "mask": "mask"}
            cases.append(case(call, names, settings, {"value": expected}))
    return cases


def entropy_case(given: dict) -> dict:
    p = torch.softmax(given["logits"], dim=-1)
    value = -(p * torch.log(p)).sum(-1)
    return case("computeEntropy", {"logits": "logits"}, {}, {"value": value})


def group_advantages(by_std: bool) -> list[float]:
    groups = torch.tensor(REWARDS, dtype=torch.float64).view(-1, 4)
    centred = groups - groups.mean(1, keepdim=True)
    if by_std:
        centred = centred / (groups.std(1, keepdim=True) + ADVANTAGE_EPS)
    return centred.flatten().tolist()


def filled(row: dict) -> str:
    before, rest = TEMPLATE.split("{instruction}")
    between, after = rest.split("{response}")
    return before + row["prompt"] + between + row["response"] + after


def tokenized() -> dict:
    tokenizer = tokenizers.Tokenizer.from_file(str(MODELS / POLICY / "tokenizer.json"))
    named = json.loads((MODELS / POLICY / "tokenizer_config.json").read_text())
    pad, eos = (tokenizer.token_to_id(named[name]) for name in ("pad_token", "eos_token"))

    def ids_of(text: str) -> list[int]:
        return tokenizer.encode(text, add_special_tokens=False).ids

    pairs = [(ids_of(p), ids_of(o)) for p, o in zip(PROMPTS, OUTPUTS)]
    width = max(len(p) + len(o) for p, o in pairs)
    whole = torch.tensor([p + o + [pad] * (width - len(p) - len(o)) for p, o in pairs])
    is_output = torch.tensor(
        [[0] * len(p) + [1] * len(o) + [0] * (width - len(p) - len(o)) for p, o in pairs]
    ).bool()
    run = [i for row in ROWS for i in ids_of(filled(row)) + [eos]]
    count = (len(run) - 1) // SEQ_LENGTH
    flat = torch.tensor(run)
    return {
        "model": POLICY,
        "prompts": PROMPTS,
        "outputs": OUTPUTS,
        "inputIds": whole[:, :-1],
        "labels": whole[:, 1:],
        "responseMask": is_output[:, 1:],
        "sft": {
            "template": TEMPLATE,
            "rows": ROWS,
            "seqLength": SEQ_LENGTH,
            "inputIds": flat[: count * SEQ_LENGTH].view(count, SEQ_LENGTH),
            "labels": flat[1 : count * SEQ_LENGTH + 1].view(count, SEQ_LENGTH),
        },
        "eos": eos,
    }


def dpo(eos: int) -> dict:
    """In float32, as the tests' weights are; the sums of log-probs and the loss in float64."""
    tokenizer = tokenizers.Tokenizer.from_file(str(MODELS / POLICY / "tokenizer.json"))

    def log_prob(model, response: str) -> torch.Tensor:
        text = filled({"prompt": PAIR["prompt"], "response": response})
        ids = torch.tensor([tokenizer.encode(text, add_special_tokens=False).ids + [eos]])
        with torch.no_grad():
            logits = model(input_ids=ids, use_cache=False).logits[0, :-1].double()
        return torch.log_softmax(logits, -1).gather(1, ids[0, 1:, None]).sum()

    def preference(name: str) -> torch.Tensor:
        model = transformers.AutoModelForCausalLM.from_pretrained(
            MODELS / name, dtype=torch.float32, attn_implementation="eager"
        ).eval()
        return log_prob(model, PAIR["responseChosen"]) - log_prob(model, PAIR["responseRejected"])

    margin = preference(POLICY) - preference(REFERENCE)
    loss = -torch.nn.functional.logsigmoid(BETA * margin)
    made = {"margin": margin.item(), "loss": loss.item()}
    return {**PAIR, "beta": BETA, "lm": POLICY, "lmRef": REFERENCE, **made}


def check(cases: list[dict]) -> None:
    def one(call: str, **settings) -> dict:
        [found] = [
            c["expected"]
            for c in cases
            if c["call"] == call and c["steps"] in (None, 1) and settings.items() <= c["settings"].items()
        ]
        return found

    def digits(name: str, value: float) -> None:
        decimals = len(str(PAGE[name]).partition(".")[2])
        # One unit of the last digit, since some are cut off and not rounded, and float32's own rounding.
        near = abs(value - PAGE[name]) <= 10**-decimals + 1e-7 * abs(value)
        assert near, f"{name}: {value}, the page has {PAGE[name]}"

    means = [c["expected"]["value"] for c in cases if c["call"] == "maskedMean"]
    digits("masked_mean", means[0].item())
    assert means[1].isnan().sum() == PAGE["masked_mean dim 0, NaNs"]
    sums = [c["expected"]["value"] for c in cases if c["call"] == "maskedNormalize"]
    digits("masked_normalize", sums[0].item())
    clipped = one("grpoMicrobatchTrainStep", lossType="grpo_clip")
    digits("grpo loss", clipped["loss"].item())
    assert 0.00555 < clipped["grad"].abs().max() < 0.00565
    for constant in (1, CONSTANT):
        made = one("sftMicrobatchTrainStep", normalizeConstant=constant)
        digits(f"sft loss, constant {constant}", made["loss"].item())
        if constant == 1:
            digits("sft gradient, constant 1", made["grad"].min().item())
    for by_std, page in PAGE_ADVANTAGES.items():
        for ours, theirs in zip(group_advantages(by_std), page):
            assert abs(ours - theirs) <= 0.5e-4 + 1e-12, f"advantage {ours}, the page has {theirs}"


def plain(value):
    """Tensors as shape and values: bits as a text of 0 and 1, NaN as null."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items() if part is not None}
    if isinstance(value, list):
        return [plain(part) for part in value]
    if not isinstance(value, torch.Tensor):
        return value
    flat = value.flatten().tolist()
    if value.dtype == torch.bool:
        return {"shape": list(value.shape), "bits": "".join("01"[bit] for bit in flat)}
    return {"shape": list(value.shape), "values": [None if x != x else x for x in flat]}


def main() -> None:
    given = inputs()
    wide = {name: t if t.dtype == torch.bool else t.double() for name, t in given.items()}
    cases = [entropy_case(wide), *loss_cases(wide), *masked_cases(wide)]
    check(cases)
    text = tokenized()
    eos = text.pop("eos")
    fixture = {
        "torch": torch.__version__.split("+")[0],
        "transformers": transformers.__version__,
        "tokenizers": tokenizers.__version__,
        "page": PAGE,
        "inputs": given,
        "cases": cases,
        "groups": {
            "rewards": REWARDS,
            "groupSize": 4,
            "advantageEps": ADVANTAGE_EPS,
            "byStd": group_advantages(True),
            "byMean": group_advantages(False),
        },
        "text": text,
        "dpo": dpo(eos),
    }
    path = HERE / "fixtures" / "cs336.json"
    path.write_text(json.dumps(plain(fixture), ensure_ascii=False, separators=(",", ":")) + "\n")
    print(f"{path.name}: {len(cases)} cases, {path.stat().st_size} bytes, DPO {fixture['dpo']['loss']:.6f}")


if __name__ == "__main__":
    main()
