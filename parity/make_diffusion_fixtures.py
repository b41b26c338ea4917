"""Makes tiny random masked-diffusion checkpoints, and their logits, loss and gradients on partly hidden sequences.

All but LLaDA (`plain_llada.py`) are transformers' own causal models with a mask that hides nothing.
Writes folders like those of make_model_fixtures.py into fixtures/models/ (see README.md).
"""

import copy
import json
import shutil
from pathlib import Path

import torch
import transformers
from safetensors.torch import save_file
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

from make_model_fixtures import MODELS, PROMPT_LENGTHS, randomize, save_expected
from model_cases import CASES, VOCAB
from plain_llada import Llada
from tiny_tokenizer import END, ENDOFTEXT, PAD, SIZE, tiny_tokenizer

MASK = SIZE
assert MASK == VOCAB - 1
HIDDEN = 0.5

LLADA = dict(
    architectures=["LLaDAModelLM"],
    model_type="llada",
    activation_type="silu",
    alibi=False,
    attention_layer_norm=False,
    block_group_size=1,
    block_type="llama",
    clip_qkv=None,
    d_model=32,
    embedding_size=VOCAB,
    eos_token_id=END,
    include_bias=False,
    include_qkv_bias=False,
    input_emb_norm=False,
    layer_norm_type="rms",
    layer_norm_with_affine=True,
    mask_token_id=MASK,
    max_sequence_length=128,
    mlp_hidden_size=48,
    mlp_ratio=4,
    multi_query_attention=None,
    n_heads=4,
    n_kv_heads=2,
    n_layers=2,
    pad_token_id=PAD,
    rms_norm_eps=1e-5,
    rope=True,
    rope_full_precision=True,
    rope_theta=500000.0,
    scale_logits=False,
    vocab_size=VOCAB,
    weight_tying=False,
)

# The causal case whose layers it has; what config.json says beside them; whether a place predicts the next one.
BOTH_WAYS = {
    # Its mask token stands in the tokenizer alone.
    "a2d-qwen3": ("qwen3", dict(model_type="a2d-qwen3", architectures=["A2DQwen3LMHeadModel"]), False),
    "a2d-qwen2": ("qwen2", dict(model_type="a2d-qwen2", architectures=["A2DQwen2LMHeadModel"], mask_token_id=MASK), False),
    "a2d-llama": ("llama3", dict(model_type="a2d-llama", architectures=["A2DLlamaLMHeadModel"], mask_token_id=MASK), False),
    "dream": ("qwen2-untied", dict(model_type="Dream", architectures=["DreamModel"], mask_token_id=MASK), True),
}


def both_ways(model: transformers.PreTrainedModel):
    """The logits of one sequence, each place attending to all."""
    dtype = next(model.parameters()).dtype

    def logits(ids: torch.Tensor) -> torch.Tensor:
        nothing_hidden = torch.zeros(1, 1, len(ids), len(ids), dtype=dtype)
        return model(input_ids=ids[None], attention_mask=nothing_hidden, use_cache=False).logits[0]

    return logits


def hidden_sequences(generator: torch.Generator) -> tuple[list[list[int]], list[list[int]]]:
    """Sequences, and the same with half of their places hidden; their first place never is: nothing of Dream's predicts it."""
    targets, inputs = [], []
    for length in PROMPT_LENGTHS:
        ids = torch.randint(MASK, (length,), generator=generator)
        hide = torch.rand(length, generator=generator) < HIDDEN
        hide[0] = False
        targets.append(ids.tolist())
        inputs.append(torch.where(hide, MASK, ids).tolist())
    return targets, inputs


def loss_and_gradients(model, logits_of, targets, inputs, shifted: bool):
    """Mean negative log-likelihood of the hidden tokens."""
    count = sum(ids.count(MASK) for ids in inputs)
    total = torch.zeros(())
    for target, ids in zip(targets, inputs):
        logprobs = logits_of(torch.tensor(ids)).log_softmax(-1)
        for place, token in enumerate(ids):
            if token == MASK:
                total = total - logprobs[place - shifted, target[place]]
    loss = total / count
    model.zero_grad()
    loss.backward()
    return loss.item(), count, {name: p.grad.clone() for name, p in model.named_parameters()}


def save_folder(folder: Path, config: dict, weights: dict[str, torch.Tensor]) -> None:
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(dict(sorted(config.items())), indent=2) + "\n")
    save_file({name: t.contiguous() for name, t in weights.items()}, folder / "model.safetensors", {"format": "pt"})
    GenerationConfig(bos_token_id=ENDOFTEXT, eos_token_id=[END, ENDOFTEXT], pad_token_id=PAD).save_pretrained(folder)
    tokenizer = tiny_tokenizer(chat=True)
    tokenizer.add_special_tokens({"mask_token": "<|mask|>"})
    assert tokenizer.mask_token_id == MASK
    tokenizer.save_pretrained(folder)


def narrowed(model: torch.nn.Module, dtype: torch.dtype) -> None:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.to(dtype))


def make(name: str, model: torch.nn.Module, logits_of, config: dict, shifted: bool, dtype=torch.float32) -> None:
    """`model` is in float32, with weights that `dtype` can hold."""
    generator = torch.Generator().manual_seed(11)
    targets, inputs = hidden_sequences(generator)
    facts = {"prompts": inputs, "targets": targets, "shifted": shifted}

    def all_logits(of) -> list[torch.Tensor]:
        with torch.no_grad():
            return [of(torch.tensor(ids)).float() for ids in inputs]

    wide = all_logits(logits_of)
    tied = getattr(getattr(model, "config", None), "tie_word_embeddings", False)
    weights = {key: t.to(dtype) for key, t in model.state_dict().items() if not (tied and key == "lm_head.weight")}
    save_folder(MODELS / name, config, weights)
    if dtype == torch.float32:
        loss, count, gradients = loss_and_gradients(model, logits_of, targets, inputs, shifted)
        facts |= {"loss": loss, "predictedTokens": count}
        tensors = {f"logits.{i}": value for i, value in enumerate(wide)}
        tensors |= {f"grad.{key}": gradient for key, gradient in gradients.items()}
    else:
        narrow = copy.deepcopy(model).to(dtype)
        tensors = {f"logitsFloat32.{i}": value for i, value in enumerate(wide)}
        tensors |= {f"logits.{i}": value for i, value in enumerate(all_logits(both_ways(narrow)))}
    save_expected(MODELS / name, tensors, facts)


def both_ways_case(name: str, dtype: torch.dtype) -> tuple[transformers.PreTrainedModel, dict, bool]:
    source, changes, shifted = BOTH_WAYS[name]
    case = CASES[source]
    config = copy.deepcopy(case.config)
    config._attn_implementation = "eager"
    model = case.architecture(config).eval()
    randomize(model, torch.Generator().manual_seed(7))
    narrowed(model, dtype)
    return model, {**config.to_diff_dict(), **changes, "dtype": str(dtype).removeprefix("torch.")}, shifted


def check_llada(model: Llada, ids: list[int]) -> None:
    """Llama of transformers with these weights, each place attending to all, has the same logits."""
    names = dict(
        wte="embed_tokens", blocks="layers", ln_f="norm", attn_norm="input_layernorm", ff_norm="post_attention_layernorm",
        q_proj="self_attn.q_proj", k_proj="self_attn.k_proj", v_proj="self_attn.v_proj", attn_out="self_attn.o_proj",
        ff_proj="mlp.gate_proj", up_proj="mlp.up_proj", ff_out="mlp.down_proj",
    )  # fmt: skip
    llama = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=VOCAB,
            hidden_size=LLADA["d_model"],
            intermediate_size=LLADA["mlp_hidden_size"],
            num_hidden_layers=LLADA["n_layers"],
            num_attention_heads=LLADA["n_heads"],
            num_key_value_heads=LLADA["n_kv_heads"],
            rms_norm_eps=LLADA["rms_norm_eps"],
            rope_parameters=dict(rope_type="default", rope_theta=LLADA["rope_theta"]),
            tie_word_embeddings=False,
            attn_implementation="eager",
        )
    ).eval()

    def renamed(name: str) -> str:
        if name == "model.transformer.ff_out.weight":
            return "lm_head.weight"
        parts = name.removeprefix("model.transformer.").split(".")
        return ".".join(["model", *(names.get(part, part) for part in parts)])

    llama.load_state_dict({renamed(name): t for name, t in model.state_dict().items()})
    with torch.no_grad():
        gap = (both_ways(llama)(torch.tensor(ids)) - model(torch.tensor(ids))).abs().max().item()
    print("llada against transformers' Llama", gap)
    assert gap < 1e-5


def main() -> None:
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    for name in BOTH_WAYS:
        model, config, shifted = both_ways_case(name, torch.float32)
        make(name, model, both_ways(model), config, shifted)
    model, config, shifted = both_ways_case("a2d-qwen3", torch.bfloat16)
    make("a2d-qwen3-bf16", model, both_ways(model), config, shifted, torch.bfloat16)
    llada = Llada(LLADA).eval()
    randomize(llada, torch.Generator().manual_seed(7))
    check_llada(llada, list(range(40)))
    make("llada", llada, llada, LLADA, shifted=False)


if __name__ == "__main__":
    main()
