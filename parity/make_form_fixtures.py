"""What the Rust library makes of the strings of strings.json.gz with the tokenizers of tokenizer_forms.py: hashes of ids and
texts by blocks of strings, fixtures/text/forms.json.gz. Run after make_string_fixtures.py.

    python parity/make_form_fixtures.py
    python parity/make_form_fixtures.py "NAME OF A FORM" BLOCK      # prints what the hashes of a block are of
"""

import base64
import gzip
import hashlib
import json
import sys
import unicodedata

from make_string_fixtures import some
from sentencepiece import SentencePieceProcessor
from tokenizer_forms import FOLDER, LLAMA, definition, forms, models, prepend, proto, replace
from tokenizer_forms import normalizers as normalizers_of
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


def rust_of(model: bytes, known: dict) -> Tokenizer:
    """A Unigram model of SentencePiece as the Rust library's: its map of characters, spaces trimmed, a mark in front, no words."""
    found = proto(model)
    charsmap = base64.b64encode(found.normalizer_spec.precompiled_charsmap).decode()
    trims = [replace("^ +| +$", "", True), replace(" {2,}", " ", True)] if found.normalizer_spec.remove_extra_whitespaces else []
    parts = [*([{"type": "Precompiled", "precompiled_charsmap": charsmap}] if charsmap else []), *trims, prepend(), replace(" ", "▁")]
    vocab = [[piece.piece, piece.score] for piece in found.pieces]
    own = {"type": "Unigram", "unk_id": found.trainer_spec.unk_id, "vocab": vocab, "byte_fallback": found.trainer_spec.byte_fallback}
    tokens = [(piece.piece, {"special": piece.type != 4}) for piece in found.pieces if piece.type in (2, 3, 4)]
    form = {"model": "own", "normalizer": normalizers_of(*parts), "pre_tokenizer": None, "decoder": LLAMA, "added": tokens}
    return Tokenizer.from_str(json.dumps(definition(known | {"own": own}, form)))


def of_file(name: str, model: bytes, known: dict, strings: list[str]) -> dict:
    """What SentencePiece itself makes of the strings without control pieces, with BPE; the Rust library, with Unigram."""
    found = proto(model)
    if found.trainer_spec.model_type == 1:
        tokenizer = rust_of(model, known)
        without = []
        encode, decode = (lambda text: tokenizer.encode(text, add_special_tokens=False).ids), (lambda ids: tokenizer.decode(ids, skip_special_tokens=False))
    else:
        processor = SentencePieceProcessor(model_proto=model)
        controls = [piece.piece for piece in found.pieces if piece.type in (2, 3)]
        # With a mark in front of texts, what follows a user-defined piece has one in transformers only.
        without = [i for i, text in enumerate(strings) if any(piece in text for piece in controls)]
        encode, decode = processor.encode, processor.decode
    ids = [encode(text) for i, text in enumerate(strings) if i not in without]
    return {
        "model": base64.b64encode(model).decode(),
        "without": without,
        "hashes": {"ids": hashes(ids), "decoded": hashes([decode(each) for each in ids])},
    }


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
    content["files"] = {name: of_file(name, model, known, strings) for name, model in known["spm"].items()}
    packed = gzip.compress(written(content).encode(), 9, mtime=0)
    (FOLDER / "forms.json.gz").write_bytes(packed)
    print(f"{len(content['forms'])} forms, {len(packed) // 1024} KiB")


if __name__ == "__main__":
    main()
