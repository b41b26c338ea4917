"""Random strings through the tokenizers of tokenizer_forms.py on both sides.

    python parity/fuzz_tokenizers.py [HOW MANY] [SEED]

Prints for each form how many strings have other ids or another text, and the first of them. Exits 1 if there is one.
"""

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from make_form_fixtures import unlike
from string_cases import NEWER, SPECIAL_PARTS, WORDS
from text_cases import PIECES
from tokenizer_forms import definition, forms, models
from tokenizers import Tokenizer

SCRIPT = Path(__file__).parent / "encode_strings.mjs"
# Latin, marks, Greek to Hebrew, Indic, Hangul, kana, ideographs, compatibility forms, emoji.
RANGES = [(0x20, 0x17F), (0x300, 0x36F), (0x370, 0x5FF), (0x900, 0xDFF), (0x1100, 0x11FF), (0x2000, 0x206F), (0x3040, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xF900, 0xFFEF), (0x1F300, 0x1F64F), (0, 0x10FFFF)]  # fmt: skip


def char(draw: random.Random) -> str:
    code = draw.randint(*draw.choice(RANGES))
    return " " if 0xD800 <= code < 0xE000 or any(low <= code <= high for low, high in NEWER) else chr(code)


def string(draw: random.Random) -> str:
    parts = [draw.choice(PIECES + WORDS + SPECIAL_PARTS) if draw.random() < 0.6 else char(draw) for _ in range(draw.randint(1, 24))]
    return "".join(parts)


def ours(file: dict, bos: str | None, strings: list[str]) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "tokenizer.json").write_text(json.dumps(file))
        (Path(folder) / "tokenizer_config.json").write_text(json.dumps({"bos_token": bos}))
        line = json.dumps({"folder": folder, "strings": strings})
        done = subprocess.run(["node", SCRIPT], input=line, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main() -> None:
    count, seed = (int(sys.argv[i]) if len(sys.argv) > i else default for i, default in ((1, 2000), (2, 0)))
    draw = random.Random(seed)
    strings = [string(draw) for _ in range(count)]
    left = set(unlike(strings))
    strings = [text for i, text in enumerate(strings) if i not in left]
    known = models()
    total = 0
    for name, form in forms(known).items():
        file = definition(known, form)
        tokenizer = Tokenizer.from_str(json.dumps(file))
        found = ours(file, form.get("bos"), strings)
        ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in strings]
        texts = [tokenizer.decode(each, skip_special_tokens=False) for each in ids]
        other = [i for i in range(len(strings)) if found["ids"][i] != ids[i] or found["texts"][i] != texts[i]]
        total += len(other)
        print(f"{name}: {len(other)} of {len(strings)} differ", *(ascii(strings[i]) for i in other[:1]))
    sys.exit(total > 0)


if __name__ == "__main__":
    main()
