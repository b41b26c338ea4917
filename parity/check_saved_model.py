"""Does transformers read a folder that saveModel wrote, and compute the same logits?

    python check_saved_model.py DIR [LOGITS.safetensors]

The second file, by default DIR/logits.safetensors, holds `ids.<i>` [L] and `logits.<i>` [L, V] as our side computed
them. Prints one JSON line; exits 1 if a key did not match, the tokenizer exceeds the vocabulary, or the logits differ.
"""

import argparse
import json
import math
import sys
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

TOLERANCE = 2e-5


def largest_difference(model: torch.nn.Module, reference: dict[str, torch.Tensor]) -> float:
    names = sorted(name for name in reference if name.startswith("ids."))
    if not names:
        raise SystemExit("the reference file has no ids.<i>")
    differences = []
    for name in names:
        ours = reference[name.replace("ids.", "logits.")].float()
        with torch.no_grad():
            theirs = model(input_ids=reference[name].long()[None], use_cache=False).logits[0].float()
        if ours.shape != theirs.shape:
            raise SystemExit(f"{name}: our logits are {list(ours.shape)}, those of transformers {list(theirs.shape)}")
        differences.append((ours - theirs).abs().max())
    # Unlike Python's max, torch's keeps a NaN, which then fails every comparison.
    return torch.stack(differences).max().item()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("reference", type=Path, nargs="?")
    arguments = parser.parse_args()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()

    model, loading = AutoModelForCausalLM.from_pretrained(
        arguments.folder,
        dtype=torch.float32,
        attn_implementation="eager",
        local_files_only=True,
        output_loading_info=True,
    )
    tokenizer = AutoTokenizer.from_pretrained(arguments.folder, local_files_only=True)
    problems = {key: sorted(map(str, value)) for key, value in loading.items() if value}
    difference = largest_difference(
        model.eval(), load_file(arguments.reference or arguments.folder / "logits.safetensors")
    )
    ok = not problems and len(tokenizer) <= model.config.vocab_size and difference <= TOLERANCE
    report = {
        "ok": ok,
        "architecture": type(model).__name__,
        "problems": problems,
        "maxAbsDifference": difference if math.isfinite(difference) else None,
        "tolerance": TOLERANCE,
        "tokenizerIds": len(tokenizer),
        "vocabSize": model.config.vocab_size,
        "endIds": model.generation_config.eos_token_id,
    }
    print(json.dumps(report))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
