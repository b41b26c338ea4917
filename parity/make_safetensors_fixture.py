"""Makes fixtures/safetensors with Python's safetensors: what another writer's files look like.

    python parity/make_safetensors_fixture.py

expected.json holds, for each tensor, what Python reads back: dtype, shape, bytes in hex.
"""

import json
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file

OUT = Path(__file__).parent / "fixtures" / "safetensors"
DTYPES = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
    "I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8,
    "U8": torch.uint8, "BOOL": torch.bool,
}  # fmt: skip


def tensors():
    made = {}
    for name, dtype in DTYPES.items():
        values = torch.tensor([[0, 1, 2], [3, 100, 1]]) if name != "U8" else torch.tensor([[0, 1, 2], [3, 100, 255]])
        if dtype.is_floating_point:
            values = values.double() / -3
        elif name not in ("U8", "BOOL"):
            values = -values
        made[f"matrix.{name}"] = values.to(dtype)
    made["scalar"] = torch.tensor(1.5)
    made["empty"] = torch.zeros(0, 4)
    made["name with \"quotes\", é and 名"] = torch.arange(5, dtype=torch.int64)
    made["7"] = torch.tensor([7], dtype=torch.int32)
    return made


def read_back(path):
    rows = {}
    with safe_open(path, framework="pt") as file:
        for name in file.keys():
            value = file.get_tensor(name)
            rows[name] = {
                "dtype": file.get_slice(name).get_dtype(),
                "shape": list(value.shape),
                # A view as bytes needs a dimension and an element.
                "hex": value.reshape(-1).view(torch.uint8).numpy().tobytes().hex() if value.numel() else "",
            }
    return rows


def main():
    sharded = OUT / "sharded"
    sharded.mkdir(parents=True, exist_ok=True)
    everything = tensors()
    # One metadata key: with several, their order in the file is random.
    save_file(everything, OUT / "dtypes.safetensors", metadata={"format": "pt"})
    expected = read_back(OUT / "dtypes.safetensors")

    weight_map = {}
    names = sorted(everything)
    for number, part in enumerate([names[:7], names[7:]], 1):
        file = f"model-{number:05d}-of-00002.safetensors"
        save_file({name: everything[name] for name in part}, sharded / file, metadata={"format": "pt"})
        weight_map.update(dict.fromkeys(part, file))
    total = sum(value.numel() * value.element_size() for value in everything.values())
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    (sharded / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")
    (OUT / "expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n")


main()
