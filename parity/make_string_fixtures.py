"""Token ids of some 2,700 strings for the tokenizers of fixtures/text/ and variants of them, by the Rust library:
fixtures/text/strings.json.gz. Run after make_text_fixtures.py.

    python parity/make_string_fixtures.py
"""

import gzip
import json
import random
from pathlib import Path

from string_cases import many_strings
from tokenizers import Tokenizer

FOLDER = Path(__file__).parent / "fixtures" / "text"


def definition(family: str) -> dict:
    return json.loads((FOLDER / family / "tokenizer.json").read_text(encoding="utf-8"))


def flagged(base: str) -> list[dict]:
    """Added tokens with each flag; the flags change what happens to the text around and to text that is not yet NFC."""
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    wanted = [
        ("<|turn|>", {"lstrip": True, "special": True}),
        ("<|/turn|>", {"rstrip": True, "special": True}),
        ("<musing>", {"lstrip": True, "rstrip": True}),
        ("</musing>", {"normalized": True}),
        ("\u00e9\u00e9", {"normalized": True, "lstrip": True}),
        ("the miller", {}),
        ("the", {"normalized": True}),
        ("<|/tu", {}),
    ]
    kept = [token for token in definition(base)["added_tokens"] if token["content"] not in dict(wanted)]
    tokens = kept + [plain | {"content": content} | flags for content, flags in wanted]
    # The Rust library numbers them on from the vocabulary, whatever the file says.
    return [token | {"id": len(definition(base)["model"]["vocab"]) + i} for i, token in enumerate(tokens)]


def removing(base: str) -> dict:
    """The same split, said the other way round: what stands between the matches is removed."""
    parts = definition(base)["pre_tokenizer"]
    parts["pretokenizers"][0] |= {"behavior": "Removed", "invert": True}
    return parts


# A base and what is replaced in its tokenizer.json. The tests make the same.
VARIANTS = {
    "gpt2 with a prefix space": ("gpt2", {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}}),
    "qwen2 with flags": ("qwen2", {"added_tokens": flagged("qwen2")}),
    "gpt2 with flags": ("gpt2", {"added_tokens": flagged("gpt2"), "normalizer": None}),
    "llama3 by removal": ("llama3", {"pre_tokenizer": removing("llama3")}),
    "llama3 without ignored merges": ("llama3", {"model.ignore_merges": False}),
    "gpt2 with the digits apart": ("gpt2", {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}]}}),
}  # fmt: skip


def changed(base: str, changes: dict) -> str:
    content = definition(base)
    for path, value in changes.items():
        *parents, last = path.split(".")
        part = content
        for name in parents:
            part = part[name]
        part[last] = value
    return json.dumps(content)


def some(strings: list[str]) -> list[str]:
    """A third is enough for a variant, with all that holds white space which not everybody takes for such."""
    return [text for i, text in enumerate(strings) if i % 3 == 0 or "\ufeff" in text or "\u0085" in text]


def measured(tokenizer: Tokenizer, strings: list[str]) -> dict:
    ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in strings]
    whole = [tokenizer.encode(text).ids for text in strings]
    decoded = [tokenizer.decode(each, skip_special_tokens=False) for each in ids]
    skipped = [tokenizer.decode(each) for each in ids]
    draw = random.Random(2)
    size = max(tokenizer.get_vocab().values()) + 1
    # Bytes in any order are mostly no UTF-8.
    random_ids = [[draw.randrange(size) for _ in range(draw.randint(1, 12))] for _ in range(300)]
    return {
        "ids": ids,
        # Only what differs is written down, by the string's index.
        "withSpecials": {i: each for i, each in enumerate(whole) if each != ids[i]},
        "decoded": {i: each for i, each in enumerate(decoded) if each != strings[i]},
        "skipped": {i: each for i, each in enumerate(skipped) if each != decoded[i]},
        "random": [{"ids": each, "text": tokenizer.decode(each, skip_special_tokens=False)} for each in random_ids],
    }


def main() -> None:
    strings = many_strings()
    tokenizers = {name: Tokenizer.from_file(str(FOLDER / name / "tokenizer.json")) for name in ("gpt2", "llama3", "qwen2")}
    tokenizers |= {name: Tokenizer.from_str(changed(*variant)) for name, variant in VARIANTS.items()}
    content = {
        "strings": strings,
        "variants": {name: {"base": base, "changes": changes} for name, (base, changes) in VARIANTS.items()},
        "tokenizers": {
            name: measured(tokenizer, some(strings) if name in VARIANTS else strings) for name, tokenizer in tokenizers.items()
        },
    }
    packed = gzip.compress(json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode(), 9, mtime=0)
    (FOLDER / "strings.json.gz").write_bytes(packed)
    print(f"{len(strings)} strings, {len(tokenizers)} tokenizers, {len(packed) // 1024} KiB")


if __name__ == "__main__":
    main()
