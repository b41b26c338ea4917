"""Adapters that PEFT makes on the fixture models, with what PEFT computes with them."""

from dataclasses import dataclass
from pathlib import Path

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM

MODELS = Path(__file__).parent / "fixtures" / "models"


@dataclass(frozen=True)
class LoraCase:
    model: str
    rank: int
    alpha: int
    targets: list[str] | str
    excluded: list[str] | str | None = None


# Names, PEFT's own choice, every linear layer by its whole name, a pattern; GPT-2's layers are Conv1D.
CASES = {
    "gpt2": LoraCase("gpt2", 2, 8, ["c_attn", "c_proj", "c_fc"]),
    "llama3": LoraCase(
        "llama3", 2, 4, ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    ),
    "qwen2": LoraCase("qwen2", 4, 6, "all-linear"),
    "qwen3": LoraCase("qwen3", 3, 16, r".*\.(q_proj|down_proj)"),
    # Layers that are left out, by ends of names, by a whole name, and by a pattern; fused projections.
    "gemma3": LoraCase("gemma3", 2, 4, "all-linear", ["v_proj", "model.layers.1.mlp.down_proj"]),
    "granite": LoraCase("granite", 2, 4, ["q_proj", "up_proj"], r".*layers\.[02]\..*"),
    "phi3": LoraCase("phi3", 2, 4, ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"]),
    "olmo2": LoraCase("olmo2", 2, 4, "all-linear"),
}


def sequences(vocab: int) -> list[list[int]]:
    return [[(i * 97 + length) % vocab for i in range(length)] for length in (5, 17)]


def load(name: str, dtype: torch.dtype = torch.float32) -> torch.nn.Module:
    model = AutoModelForCausalLM.from_pretrained(
        MODELS / name, dtype=dtype, attn_implementation="eager", local_files_only=True
    )
    return model.eval()


def logits_of(model: torch.nn.Module, ids: list[int]) -> torch.Tensor:
    return model(input_ids=torch.tensor([ids]), use_cache=False).logits[0]


def make(name: str, out: Path) -> None:
    """Writes the adapter, and `expected.safetensors`: `ids.<i>`, `logits.<i>`, `grad.<matrix>`.

    The gradient is that of the mean negative log-likelihood of every token but the first of each sequence.
    """
    case = CASES[name]
    torch.manual_seed(list(CASES).index(name))
    config = LoraConfig(
        r=case.rank,
        lora_alpha=case.alpha,
        target_modules=case.targets,
        exclude_modules=case.excluded,
        task_type="CAUSAL_LM",
    )
    model = get_peft_model(load(case.model), config)
    model.eval()
    # A's own start is small, and B's is 0: neither would tell a wrong scale from a right one.
    trained = {key: p for key, p in model.named_parameters() if p.requires_grad}
    with torch.no_grad():
        for parameter in trained.values():
            parameter.normal_(0, 0.1)
    # Not where it lay when this was made.
    model.peft_config["default"].base_model_name_or_path = f"models/{case.model}"
    model.save_pretrained(out)
    (out / "README.md").unlink()
    # In float64: float32 of this size is itself 1e-5 off, which is most of what the tests allow.
    save_file(expected_of(model.double(), trained), out / "expected.safetensors")


def expected_of(model: PeftModel, trained: dict[str, torch.nn.Parameter]) -> dict[str, torch.Tensor]:
    expected: dict[str, torch.Tensor] = {}
    losses = []
    for i, ids in enumerate(sequences(model.config.vocab_size)):
        logits = logits_of(model, ids)
        losses.append(torch.nn.functional.cross_entropy(logits[:-1], torch.tensor(ids[1:]), reduction="none"))
        expected[f"ids.{i}"] = torch.tensor(ids)
        expected[f"logits.{i}"] = logits.detach().float().contiguous()
    torch.cat(losses).mean().backward()
    for key, parameter in trained.items():
        matrix = key.removeprefix("base_model.model.").replace(".default.", ".")
        expected[f"grad.{matrix}"] = parameter.grad.float().contiguous()
    return expected
