"""Do adapters mean the same here and in PEFT? Needs `npm run build`.

For each case of lora_cases.py: PEFT makes an adapter, ours reads it (logits, gradients of every matrix); ours makes
one, PEFT reads it; ours merges PEFT's adapter, transformers reads the model. Prints one JSON line a case; exits 1 when
logits differ by more than 2e-5, or a gradient's cosine is below 0.99999.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import transformers
from peft import PeftModel
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from check_saved_model import TOLERANCE, largest_difference
from lora_cases import CASES, load, make

LEAST_COSINE = 0.99999


def read_ours(name: str, folder: Path) -> tuple[float, list[str]]:
    """How far PEFT is from us with our adapter, and the matrices that it did not find, or did not know."""
    model = load(name)
    adapted = PeftModel.from_pretrained(model, folder)
    stored = set(load_file(folder / "adapter_model.safetensors"))
    made = {key.replace(".default.", ".") for key, _ in adapted.named_parameters() if "lora_" in key}
    return largest_difference(adapted.eval(), load_file(folder / "logits.safetensors")), sorted(stored ^ made)


def read_merged(folder: Path) -> tuple[float, dict]:
    model, loading = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager", local_files_only=True, output_loading_info=True
    )
    problems = {key: sorted(map(str, value)) for key, value in loading.items() if value}
    return largest_difference(model.eval(), load_file(folder / "logits.safetensors")), problems


def main() -> int:
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    status = 0
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        for name in CASES:
            make(name, root / name / "peft")
        script = Path(__file__).with_name("check_lora.mjs")
        ran = subprocess.run(["node", script, root], capture_output=True, text=True)
        if ran.returncode != 0:
            raise SystemExit(ran.stderr)
        for line in ran.stdout.splitlines():
            ours = json.loads(line)
            name = ours["name"]
            theirs, unknown = read_ours(name, root / name / "ours")
            merged, problems = read_merged(root / name / "merged")
            # A NaN fails every comparison.
            near = all(difference <= TOLERANCE for difference in (ours["logits"], theirs, merged))
            ok = near and ours["allMatrices"] and ours["cosine"] >= LEAST_COSINE and not unknown and not problems
            print(json.dumps({"ok": ok, **ours, "ourAdapterInPeft": theirs, "merged": merged, "unknown": unknown, **problems}))
            status |= not ok
    return status


if __name__ == "__main__":
    sys.exit(main())
