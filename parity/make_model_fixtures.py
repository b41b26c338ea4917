"""Makes tiny random checkpoints with transformers, and what transformers computes with them.

Writes fixtures/models/<name>/ for every case, or for those named in the arguments: a Hugging Face folder,
expected.safetensors and expected.json (see README.md).
"""

import copy
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import torch
import transformers
from safetensors.torch import save_file
from torch.overrides import TorchFunctionMode
from transformers import AutoModelForCausalLM, GenerationConfig, PreTrainedModel

from model_cases import CASES, GEMMA3_SCALED, LLAMA3_ROPE, VOCAB, Case
from tiny_tokenizer import ENDOFTEXT, PAD, tiny_tokenizer

MODELS = Path(__file__).parent / "fixtures" / "models"
PROMPT_LENGTHS = [1, 5, 17, 40]
NEW_TOKENS = 64

# A greedy token counts as decided only if rounding cannot change it.
LEAST_GAP = 2e-3
# Rounding alone must leave the tests' tolerance of 2e-5 to errors.
MOST_ROUNDING = 1e-5
# Loops of a few tokens would hide errors of position.
LEAST_DISTINCT = 12
# A feature that moves the logits less than this would not be told from rounding by every reader.
LEAST_EFFECT = 0.2
# Fixtures are cloned by everyone.
MOST_BYTES = 400_000


def randomize(model: PreTrainedModel, generator: torch.Generator, embedding: float = 0.25) -> None:
    """Far from the default initialisation, in which biases are 0, norms 1 and attention all but uniform."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter is model.get_input_embeddings().weight:
                parameter.copy_(embedding * noise)
            elif parameter.ndim >= 2:
                parameter.copy_(0.25 * noise)
            elif name.endswith(".bias"):
                parameter.copy_(0.3 * noise)
            else:
                # Gemma adds 1 to these.
                parameter.copy_(1 + 0.3 * noise.clamp(-2, 2))


class InFloat64(TorchFunctionMode):
    """Norms and softmax of transformers ask for float32 by name: what is float64 already stays it."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if args and isinstance(args[0], torch.Tensor) and args[0].dtype == torch.float64:
            if function is torch.Tensor.float:
                return args[0]
            args = [torch.float64 if a is torch.float32 else a for a in args]
            kwargs = {key: torch.float64 if a is torch.float32 else a for key, a in kwargs.items()}
        return function(*args, **kwargs)


def in_float64(model: PreTrainedModel) -> PreTrainedModel:
    """A copy with weights in float64. The angles of rotations stay float32, as trained models have them."""
    wide = copy.deepcopy(model)
    for parameter in wide.parameters():
        parameter.data = parameter.data.double()
    return wide


def logits_of(model: PreTrainedModel, ids: list[int]) -> torch.Tensor:
    """[L, V] in float32, one sequence without padding."""
    with torch.no_grad():
        return model(input_ids=torch.tensor([ids]), use_cache=False).logits[0].float()


def greedy(model: PreTrainedModel, prompt: list[int]) -> tuple[list[int], float]:
    """64 greedy tokens, end ids ignored, and the least distance between the best two logits on the way."""
    model.generation_config = GenerationConfig(pad_token_id=PAD)
    out = model.generate(
        torch.tensor([prompt]),
        attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
        do_sample=False,
        max_new_tokens=NEW_TOKENS,
    )
    new = out[0, len(prompt) :].tolist()
    assert len(new) == NEW_TOKENS
    # Again without a cache: the two paths of transformers have to agree.
    logits = logits_of(model, out[0].tolist())[len(prompt) - 1 : -1]
    if logits.argmax(-1).tolist() != new:
        return new, 0.0
    best = logits.topk(2, dim=-1).values
    return new, (best[:, 0] - best[:, 1]).min().item()


def loss_and_gradients(model: PreTrainedModel, prompts: list[list[int]]) -> tuple[float, int, dict[str, torch.Tensor]]:
    """Mean negative log-likelihood of every token but the first of each prompt."""
    count = sum(len(ids) - 1 for ids in prompts)
    total = torch.zeros(())
    for ids in prompts:
        logits = model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, :-1]
        total = total + torch.nn.functional.cross_entropy(logits, torch.tensor(ids[1:], dtype=torch.long), reduction="sum")
    loss = total / count
    model.zero_grad()
    loss.backward()
    return loss.item(), count, {name: p.grad.clone() for name, p in model.named_parameters()}


def build(case: Case, seed: int, dtype: torch.dtype) -> tuple[PreTrainedModel, list[list[int]]]:
    """A float32 model with weights that `dtype` can hold, and its prompts."""
    generator = torch.Generator().manual_seed(seed)
    config = copy.deepcopy(case.config)
    config._attn_implementation = "eager"
    model = case.architecture(config).eval()
    randomize(model, generator, case.embedding)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.to(dtype))
    prompts = [torch.randint(VOCAB, (length,), generator=generator).tolist() for length in PROMPT_LENGTHS]
    return model, prompts


def load(folder: Path, dtype: torch.dtype) -> PreTrainedModel:
    return AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, attn_implementation="eager").eval()


def rounding(model: PreTrainedModel, prompts: list[list[int]]) -> float:
    """How far float32 is from float64, or from float32 whose every weight is moved by about its rounding."""
    generator = torch.Generator().manual_seed(0)
    other = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.mul_(1 + 2**-24 * torch.randn(parameter.shape, generator=generator))
    found = [logits_of(model, ids) for ids in prompts]
    moved = [logits_of(other, ids) for ids in prompts]
    with InFloat64():
        exact = in_float64(model)
        moved += [logits_of(exact, ids) for ids in prompts]
    return max((a - b).abs().max().item() for a, b in zip(moved, found + found))


def usable(model: PreTrainedModel, prompts: list[list[int]]) -> tuple[list[list[int]], float] | None:
    """The greedy tokens, or nothing if they are undecided or too uniform with this seed, or the model is ill-conditioned."""
    if not rounding(model, prompts) <= MOST_ROUNDING:
        return None
    found = [greedy(model, prompt) for prompt in prompts]
    gap = min(gap for _, gap in found)
    distinct = min(len(set(tokens)) for tokens, _ in found)
    return ([tokens for tokens, _ in found], gap) if gap >= LEAST_GAP and distinct >= LEAST_DISTINCT else None


def effects(model: PreTrainedModel, case: Case, prompts: list[list[int]]) -> dict[str, float]:
    """How far the logits move when each feature is switched off."""
    right = [logits_of(model, ids) for ids in prompts]
    moved = {}
    for feature, switch_off in case.features.items():
        other = switch_off(model)
        moved[feature] = max((logits_of(other, ids) - it).abs().max().item() for ids, it in zip(prompts, right))
    return moved


def save_folder(model: PreTrainedModel, case: Case, folder: Path, **options) -> None:
    if folder.exists():
        shutil.rmtree(folder)
    model.generation_config = GenerationConfig(bos_token_id=ENDOFTEXT, eos_token_id=case.end_ids, pad_token_id=PAD)
    model.save_pretrained(folder, **options)
    tiny_tokenizer(case.chat).save_pretrained(folder)


def save_expected(folder: Path, tensors: dict[str, torch.Tensor], facts: dict) -> None:
    versions = {"transformers": transformers.__version__, "torch": torch.__version__.split("+")[0]}
    if tensors:
        save_file({name: t.contiguous() for name, t in tensors.items()}, folder / "expected.safetensors")
    (folder / "expected.json").write_text(json.dumps({**versions, **facts}) + "\n")
    size = sum(file.stat().st_size for file in folder.iterdir())
    assert size < MOST_BYTES, f"{folder.name} has {size} bytes"
    print(folder.name, size, {k: v for k, v in facts.items() if k not in ("prompts", "greedy")})


def legacy_llama3(config: dict) -> None:
    config["rope_theta"] = LLAMA3_ROPE["rope_theta"]
    config["rope_scaling"] = {key: value for key, value in LLAMA3_ROPE.items() if key != "rope_theta"}
    config["transformers_version"] = "4.43.0"


def legacy_gemma3(config: dict) -> None:
    """One period of windows in place of a list, and a flat key for each rope."""
    config.pop("layer_types")
    config.pop("_sliding_window_pattern")
    config["sliding_window_pattern"] = 2
    config["rope_theta"] = GEMMA3_SCALED["rope_theta"]
    config["rope_local_base_freq"] = 100.0
    config["rope_scaling"] = {"factor": GEMMA3_SCALED["factor"], "rope_type": "linear"}
    config["cache_implementation"] = "hybrid"
    config["transformers_version"] = "4.50.0"


LEGACY = {"gemma3-scaled": legacy_gemma3}


def write_legacy_config(path: Path, rewrite: Callable[[dict], None]) -> None:
    """Spells config.json as transformers 4 did."""
    config = json.loads(path.read_text())
    config.pop("rope_parameters")
    config["torch_dtype"] = config.pop("dtype")
    rewrite(config)
    path.write_text(json.dumps(dict(sorted(config.items())), indent=2) + "\n")


def make(name: str, case: Case, dtype: torch.dtype = torch.float32) -> PreTrainedModel:
    """Writes one folder with the first usable seed; what is expected comes from the folder as transformers reads it."""
    for seed in range(1, 500):
        model, prompts = build(case, seed, dtype)
        # In float32 for bf16 weights too: bf16 logits tie.
        found = usable(model, prompts)
        if found:
            break
    else:
        raise SystemExit(f"{name}: no seed gives greedy tokens that are decided")
    tokens, gap = found
    folder = MODELS / name
    save_folder(model.to(dtype), case, folder)

    facts = {"seed": seed, "prompts": prompts, "greedy": tokens, "leastGreedyGap": gap}
    if name in LEGACY:
        write_legacy_config(folder / "config.json", LEGACY[name])
    loaded = load(folder, torch.float32)
    if name in LEGACY:
        assert all(torch.equal(logits_of(loaded, ids), logits_of(model, ids)) for ids in prompts), name
    if case.features:
        facts["effects"] = effects(loaded, case, prompts)
        weak = {feature: effect for feature, effect in facts["effects"].items() if not effect > LEAST_EFFECT}
        assert not weak, f"{name}: the fixture would not notice the lack of {weak}"
    if dtype == torch.float32:
        # Float32 is itself up to 1e-5 off, half of what the tests allow.
        with InFloat64():
            exact = in_float64(loaded)
            loss, count, gradients = loss_and_gradients(exact, prompts)
            wide = {f"logits.{i}": logits_of(exact, ids) for i, ids in enumerate(prompts)}
        wide |= {f"grad.{key}": gradient for key, gradient in gradients.items()}
        assert all(tensor.dtype == torch.float64 for tensor in wide.values()), name
        tensors = {key: tensor.float() for key, tensor in wide.items()}
        facts |= {"loss": loss, "predictedTokens": count}
    else:
        logits = {f".{i}": logits_of(loaded, ids) for i, ids in enumerate(prompts)}
        # The same rounded weights computed in float32 allow a tight comparison, bf16 arithmetic a loose one.
        narrow = load(folder, dtype)
        tensors = {"logitsFloat32" + i: value for i, value in logits.items()}
        tensors |= {f"logits.{i}": logits_of(narrow, ids) for i, ids in enumerate(prompts)}
    save_expected(folder, tensors, facts)
    return model


def make_legacy_config() -> None:
    """The config.json of `llama3` in the spelling of transformers 4."""
    folder = MODELS / "llama3-legacy-config"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(MODELS / "llama3" / "config.json", folder)
    write_legacy_config(folder / "config.json", legacy_llama3)


def main(names: list[str]) -> None:
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    for name, case in CASES.items():
        if names and name not in names:
            continue
        model = make(name, case)
        if name == "llama3":
            save_folder(model, case, MODELS / "llama3-sharded", max_shard_size="40KB")
            save_expected(MODELS / "llama3-sharded", {}, {"expectedOf": "llama3"})
            make_legacy_config()
    if not names:
        make("qwen3-bf16", CASES["qwen3"], torch.bfloat16)


if __name__ == "__main__":
    main(sys.argv[1:])
