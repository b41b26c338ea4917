"""Files that gguf.mjs left in DIR, read back by the `gguf` package: every tensor by the name that its tables give, its
values within the rounding of its type, the metadata, and the tokenizer as transformers reads it.

    python parity/check_gguf.py DIR         prints one line a file; fails at the first difference
"""

import json
import sys
from pathlib import Path

import gguf
import numpy as np
from safetensors.numpy import load_file
from transformers import AutoTokenizer

ARCHITECTURES = {"gemma3_text": "gemma3", "mistral": "llama"}
NEIGHBOURS = {"llama", "smollm3", "granite"}
# Half a unit in the last place, relative; of Q8_0 half a step of 1 / 127 of the block's largest, and of float16 its scale.
ROUNDING = {"F32": 0.0, "F16": 2.0**-11, "BF16": 2.0**-8}


def as_llama(name: str, values: np.ndarray, config: dict, arch: str) -> np.ndarray:
    """A tensor of the checkpoint as llama.cpp's converter has it."""
    if arch == "gpt2":
        return values.T if values.ndim == 2 and ".h." in name else values
    if arch.startswith("gemma") and name.endswith("norm.weight"):
        return values + 1
    heads = {"q_proj": config.get("num_attention_heads"), "k_proj": config.get("num_key_value_heads")}
    projection = name.split(".")[-2]
    if arch in NEIGHBOURS and projection in heads:
        halves = values.reshape(heads[projection], 2, -1, *values.shape[1:])
        return halves.swapaxes(1, 2).reshape(values.shape)
    return values


def check_tensors(reader: gguf.GGUFReader, folder: Path, config: dict, arch: str) -> float:
    """The largest error in units of what the type's rounding allows."""
    code = {name: number for number, name in gguf.MODEL_ARCH_NAMES.items()}[arch]
    names = gguf.get_tensor_name_map(code, config.get("num_hidden_layers") or config["n_layer"])
    found = {tensor.name: tensor for tensor in reader.tensors}
    worst = 0.0
    for name, values in load_file(folder / "model.safetensors").items():
        # The tables know GPT-2's names without their prefix, and of fused Phi those of its file.
        stem, _, ending = name.rpartition(".")
        mapped = names.get_name(stem) or names.get_name(stem.removeprefix("transformer."))
        assert mapped, f"{name}: the gguf package knows no tensor of this name"
        tensor = found.pop(f"{mapped}.{ending}")
        expected = as_llama(name, values, config, arch)
        read = gguf.quants.dequantize(tensor.data, tensor.tensor_type).reshape(expected.shape)
        kind = tensor.tensor_type.name
        assert kind == "F32" or values.ndim == 2, f"{name}: {kind} of {values.ndim} dimensions"
        error = np.abs(read - expected)
        if kind == "Q8_0":
            largest = np.abs(expected.reshape(-1, 32)).max(axis=1, keepdims=True)
            allowed = (largest * (0.5 / 127 + 2.0**-11) + 1e-12).repeat(32, axis=1).reshape(expected.shape)
        else:
            allowed = np.abs(expected) * ROUNDING[kind] + (1e-12 if kind == "F32" else 2.0**-25)
        worst = max(worst, float((error / allowed).max()))
    shared = {"rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"}
    rest = {name for name in found if name not in shared and not (name == "output.weight" and arch == "olmo2")}
    assert not rest, f"tensors that the model lacks: {rest}"
    return worst


def check_tokenizer(fields: dict, folder: Path, config: dict) -> int:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokens = fields["tokenizer.ggml.tokens"]
    assert len(tokens) == config["vocab_size"]
    special = set(tokenizer.all_special_ids)
    for number, token in enumerate(tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))):
        assert tokens[number] == token, (number, tokens[number], token)
        assert number not in special or fields["tokenizer.ggml.token_type"][number] in (2, 3), token
    merges = json.loads(tokenizer.backend_tokenizer.to_str())["model"]["merges"]
    if "tokenizer.ggml.merges" in fields:
        assert [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"]] == [tuple(pair) for pair in merges]
    assert fields.get("tokenizer.chat_template") == tokenizer.chat_template
    ends = json.loads((folder / "generation_config.json").read_text())["eos_token_id"]
    named = [fields.get(f"tokenizer.ggml.{name}_token_id") for name in ("eos", "eot", "eom")]
    assert {end for end in named if end is not None} == set(ends if isinstance(ends, list) else [ends])
    return len(tokens)


def check_shape(fields: dict, config: dict, arch: str) -> int:
    """Keys of the configuration by the constants of the package."""
    keys = gguf.Keys
    known = {
        keys.LLM.EMBEDDING_LENGTH: ("hidden_size", "n_embd"),
        keys.LLM.BLOCK_COUNT: ("num_hidden_layers", "n_layer"),
        keys.LLM.FEED_FORWARD_LENGTH: ("intermediate_size", "n_inner"),
        keys.Attention.HEAD_COUNT: ("num_attention_heads", "n_head"),
        keys.Attention.HEAD_COUNT_KV: ("num_key_value_heads", "n_head"),
        keys.Attention.KEY_LENGTH: ("head_dim",),
        keys.Attention.VALUE_LENGTH: ("head_dim",),
        keys.Attention.LAYERNORM_RMS_EPS: ("rms_norm_eps",),
        keys.Attention.LAYERNORM_EPS: ("layer_norm_epsilon",),
        keys.Attention.SCALE: ("attention_multiplier",),
        keys.LLM.EMBEDDING_SCALE: ("embedding_multiplier",),
        keys.LLM.RESIDUAL_SCALE: ("residual_multiplier",),
        keys.LLM.LOGIT_SCALE: ("logits_scaling",),
        keys.LLM.ATTN_LOGIT_SOFTCAPPING: ("attn_logit_softcapping",),
        keys.LLM.FINAL_LOGIT_SOFTCAPPING: ("final_logit_softcapping",),
    }
    compared = 0
    for key, aliases in known.items():
        expected = next((config[alias] for alias in aliases if config.get(alias) is not None), None)
        if expected is None:
            continue
        found = fields[key.format(arch=arch)]
        assert np.float32(found) == np.float32(expected), (key, found, expected)
        compared += 1
    return compared


root = Path(sys.argv[1])
for path in sorted((root / "gguf").glob("*.gguf")):
    name, kind = path.stem.rsplit("-", 1)
    folder = root / "models" / name
    config = json.loads((folder / "config.json").read_text())
    arch = ARCHITECTURES.get(config["model_type"], config["model_type"])
    reader = gguf.GGUFReader(path)
    fields = {key: field.contents() for key, field in reader.fields.items()}
    assert fields["general.architecture"] == arch
    assert fields["general.file_type"] == {"f32": 0, "f16": 1, "q8_0": 7, "bf16": 32}[kind]
    keys = check_shape(fields, config, arch)
    tokens = check_tokenizer(fields, folder, config)
    worst = check_tensors(reader, folder, config, arch)
    assert worst <= 1, f"{path.name}: {worst} of the rounding of its types"
    print(f"{path.name}: {len(reader.tensors)} tensors, at most {worst:.3f} of their rounding; {keys} keys, {tokens} tokens")
