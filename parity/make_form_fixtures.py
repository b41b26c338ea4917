"""What the Rust library makes of the strings of strings.json.gz with the tokenizers of tokenizer_forms.py: hashes of ids and
texts by blocks of strings, fixtures/text/forms.json.gz. Run after make_string_fixtures.py.

    python parity/make_form_fixtures.py
    python parity/make_form_fixtures.py "NAME OF A FORM" BLOCK      # prints what the hashes of a block are of
"""

import gzip
import hashlib
import json
import sys
import unicodedata

from make_string_fixtures import some
from tokenizer_forms import FOLDER, definition, forms, models
from tokenizers import Tokenizer, normalizers

BLOCK = 16


def written(value) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def measured(tokenizer: Tokenizer, strings: list[str]) -> dict[str, list]:
    """For each string its ids, its ids with special tokens, and the texts of the first: whole, without special tokens, by token."""
    ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in strings]
    size = max(tokenizer.get_vocab().values()) + 1
    drawn = [[(i * 7919 + k * 104729 + k * k * 31) % size for k in range(1 + i % 9)] for i in range(len(strings))]
    return {
        "ids": ids,
        "withSpecials": [tokenizer.encode(text).ids for text in strings],
        "decoded": [tokenizer.decode(each, skip_special_tokens=False) for each in ids],
        "skipped": [tokenizer.decode(each) for each in ids],
        "single": [[tokenizer.decode([id], skip_special_tokens=False) for id in each[:12]] for each in ids],
        # Ids in any order: bytes that are no UTF-8, marks in odd places.
        "drawn": [[each, tokenizer.decode(each, skip_special_tokens=False)] for each in drawn],
    }


def unlike(strings: list[str]) -> list[int]:
    """The strings with marks that are newer than the Unicode of the Rust library, which leaves these where accents are stripped."""
    strip = normalizers.StripAccents()
    left = lambda char: unicodedata.category(char)[0] == "M" and strip.normalize_str(char) != ""
    return [i for i, text in enumerate(strings) if any(map(left, text))]


def blocks(values: list) -> list[list]:
    return [values[i : i + BLOCK] for i in range(0, len(values), BLOCK)]


def hashes(values: list) -> str:
    return "".join(hashlib.sha256(written(block).encode()).hexdigest()[:6] for block in blocks(values))


def main() -> None:
    strings = json.loads(gzip.decompress((FOLDER / "strings.json.gz").read_bytes()))["strings"]
    known = models()
    content = {"block": BLOCK, "models": {name: model for name, model in known.items() if name not in ("spm", "charsmap")}, "forms": {}}
    for name, form in forms(known).items():
        file = definition(known, form)
        tokenizer = Tokenizer.from_str(json.dumps(file))
        used = strings if form.get("all") else some(strings)
        without = unlike(used) if "StripAccents" in json.dumps(form["normalizer"]) else []
        found = measured(tokenizer, [text for i, text in enumerate(used) if i not in without])
        if sys.argv[1:2] == [name]:
            print(*(f"{key}: {written(blocks(values)[int(sys.argv[2])])}" for key, values in found.items()), sep="\n")
        model = {"name": form["model"], "flags": form.get("flags", {})}
        content["forms"][name] = {
            "all": form.get("all", False),
            "without": without,
            "definition": file | {"model": model},
            "hashes": {key: hashes(values) for key, values in found.items()},
        }
    if len(sys.argv) > 1:
        return
    packed = gzip.compress(written(content).encode(), 9, mtime=0)
    (FOLDER / "forms.json.gz").write_bytes(packed)
    print(f"{len(content['forms'])} forms, {len(packed) // 1024} KiB")


if __name__ == "__main__":
    main()
