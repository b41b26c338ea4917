"""Tokenizers in the forms in which folders of models have them, with tiny vocabularies: BPE that falls back to bytes (Llama 2,
Mistral, Gemma), Unigram (T5, ALBERT), and byte-level BPE with the patterns of newer families."""

import io
import json
import tempfile
from pathlib import Path

import sentencepiece
from text_cases import CORPUS

FOLDER = Path(__file__).parent / "fixtures" / "text"

# Rules for SentencePiece's map of characters: what NFKC does to some, and what it never would.
RULES = {
    **{chr(0xFF01 + i): chr(0x21 + i) for i in range(94)},
    **{chr(code): " " for code in (0x9, 0xA, 0xD, 0xA0, 0x2003, 0x2009, 0x3000, 0xFEFF, 0x200B)},
    **{chr(code): "" for code in (0x1, 0x1F, 0x7F, 0xAD)},
    **{"ﬁ": "fi", "ﬂ": "fl", "½": "1⁄2", "²": "2", "…": "...", "\u212b": "\u00c5", "ẞ": "SS", "ſ": "s", "①": "1", "Ⅳ": "IV", "が": "か\u3099"},
    **{"e\u0301": "é", "e\u0300": "è", "a\u030a": "å", "o\u0308": "ö", "u\u0302": "û", "u\u0302\u0301": "X", "q\u0323": "Q"},
    **{"\r\n": "|", "👍🏽": "+", "👍": "up", "\u1100\u1161": "가", "\u1100\u1161\u11a8": "각", "नि": "ni", "न": "n"},
    **{"ab": "BA", "磨坊": "mill"},
}  # fmt: skip

LINES = [line for line in CORPUS.split("\n") if line.strip()]


def hexed(text: str) -> str:
    return " ".join(f"{ord(char):X}" for char in text)


def spm(model_type: str, size: int, *, rules=False, **options) -> bytes:
    """A SentencePiece model as bytes."""
    model = io.BytesIO()
    with tempfile.NamedTemporaryFile("w", suffix=".tsv", encoding="utf-8") as file:
        if rules:
            file.write("".join(f"{hexed(old)}\t{hexed(new)}\n" for old, new in RULES.items()))
            file.flush()
            options["normalization_rule_tsv"] = file.name
        else:
            options.setdefault("normalization_rule_name", "identity")
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(LINES * 3), model_writer=model, model_type=model_type, vocab_size=size, minloglevel=2,
            num_threads=1, hard_vocab_limit=model_type == "bpe", character_coverage=1.0 if model_type == "bpe" else 0.98, **options,
        )  # fmt: skip
    return without_path(model.getvalue())


def without_path(model: bytes) -> bytes:
    """The file of rules is named in the model, and has another name each time."""
    found = proto(model)
    found.normalizer_spec.normalization_rule_tsv = ""
    return found.SerializeToString()


# What `tokenizer.model` files are like: Llama 2's, Gemma's, T5's, ALBERT's.
SPM = {
    "llama": lambda: spm("bpe", 600, byte_fallback=True, split_digits=True, remove_extra_whitespaces=False, allow_whitespace_only_pieces=True),
    "gemma": lambda: spm("bpe", 620, byte_fallback=True, split_digits=True, remove_extra_whitespaces=False, allow_whitespace_only_pieces=True, add_dummy_prefix=False, split_by_whitespace=False, pad_id=0, eos_id=1, bos_id=2, unk_id=3, control_symbols=["<|turn|>", "<|/turn|>"], user_defined_symbols=["<musing>", "</musing>", "\n\n", "▁▁", "▁▁▁▁", "the"]),
    "t5": lambda: spm("unigram", 400, rules=True, pad_id=0, eos_id=1, unk_id=2, bos_id=-1),
    "albert": lambda: spm("unigram", 620, byte_fallback=True, remove_extra_whitespaces=False, user_defined_symbols=["<musing>"], control_symbols=["<|turn|>"]),
}  # fmt: skip


def proto(model: bytes):
    from sentencepiece import sentencepiece_model_pb2

    return sentencepiece_model_pb2.ModelProto.FromString(model)


def _bpe(content: bytes, **flags) -> dict:
    """A BPE model with the pieces of a SentencePiece model, and merges as its scores order them."""
    pieces = [piece.piece for piece in proto(content).pieces]
    vocab = {piece: i for i, piece in enumerate(pieces)}
    kinds = {piece.piece: piece.type for piece in proto(content).pieces}
    merges = []
    for piece in pieces:
        if kinds[piece] in (1, 4):
            pairs = [(piece[:i], piece[i:]) for i in range(1, len(piece))]
            merges += sorted((pair for pair in pairs if all(kinds.get(part) in (1, 4) for part in pair)), key=lambda pair: [vocab[part] for part in pair])
    return {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True, "ignore_merges": False, "vocab": vocab, "merges": merges} | flags  # fmt: skip


def _without(model: dict, drop) -> dict:
    """The model without some of its tokens; ids close up."""
    tokens = [token for token in model["vocab"] if not drop(token)]
    vocab = {token: i for i, token in enumerate(tokens)}
    merges = [(a, b) for a, b in model["merges"] if {a, b, a + b} <= vocab.keys()]
    return model | {"vocab": vocab, "merges": merges}


def _unigram(content: bytes, **flags) -> dict:
    found = proto(content)
    vocab = [[piece.piece, piece.score] for piece in found.pieces]
    return {"type": "Unigram", "unk_id": found.trainer_spec.unk_id, "vocab": vocab, "byte_fallback": found.trainer_spec.byte_fallback} | flags


def _byte_level(family: str, **flags) -> dict:
    return json.loads((FOLDER / family / "tokenizer.json").read_text(encoding="utf-8"))["model"] | flags


def models() -> dict[str, dict]:
    import base64

    made = {name: make() for name, make in SPM.items()}
    charsmap = base64.b64encode(proto(made["t5"]).normalizer_spec.precompiled_charsmap).decode()
    llama = _bpe(made["llama"])
    is_byte = lambda token: token.startswith("<0x")
    return {
        "spm": made,
        "charsmap": charsmap,
        "bpe": llama,
        "bpe across words": _bpe(made["gemma"]),
        "bpe without bytes": _without(llama, lambda token: is_byte(token) or token in "éßж麦🙂"),
        "bpe with some bytes": _without(llama, lambda token: token in ("<0xF0>", "<0xE2>", "<0x09>", "é", "ß")),
        "unigram": _unigram(made["t5"]),
        "unigram with bytes": _unigram(made["albert"]),
        "byte-level": _byte_level("llama3"),
        "byte-level gpt2": _byte_level("gpt2"),
    }


def prepend(text="▁"):
    return {"type": "Prepend", "prepend": text}


def replace(old, new, regex=False):
    return {"type": "Replace", "pattern": {"Regex" if regex else "String": old}, "content": new}


def normalizers(*parts):
    return {"type": "Sequence", "normalizers": list(parts)}


def pre_tokenizers(*parts):
    return {"type": "Sequence", "pretokenizers": list(parts)}


def decoders(*parts):
    return {"type": "Sequence", "decoders": list(parts)}


def metaspace(scheme="always", split=True):
    return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split}


def split(pattern, behavior="Isolated", invert=False, regex=True):
    return {"type": "Split", "pattern": {"Regex" if regex else "String": pattern}, "behavior": behavior, "invert": invert}


def byte_level(use_regex=False, add_prefix_space=False):
    return {"type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": True, "use_regex": use_regex}


def digits(apart):
    return {"type": "Digits", "individual_digits": apart}


def strip(left=1, right=0):
    return {"type": "Strip", "content": " ", "start": left, "stop": right}


def stripped(left, right):
    return {"type": "Strip", "strip_left": left, "strip_right": right}


MARKED = replace(" ", "▁")
SPACED = replace("▁", " ")
BYTES = {"type": "ByteFallback"}
FUSE = {"type": "Fuse"}
LEGACY = normalizers(prepend(), MARKED)
LLAMA = decoders(SPACED, BYTES, FUSE, strip())
GEMMA = decoders(SPACED, BYTES, FUSE)
IN_BYTES = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}

# The patterns are facts of the families' files.
LLAMA3_SPLIT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_END = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K_SPLIT = "|".join(
    [
        rf"[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}]*[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}]+{_END}",
        rf"[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}]+[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}]*{_END}",
        r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ]
)


def added(model: dict, *tokens) -> list[dict]:
    """Added tokens as texts or texts with flags. Those that the vocabulary lacks get the next ids."""
    vocab = model["vocab"] if isinstance(model["vocab"], dict) else {piece: i for i, (piece, _) in enumerate(model["vocab"])}
    result, after = [], len(vocab)
    for token in tokens:
        content, flags = (token, {}) if isinstance(token, str) else token
        id = vocab.get(content, after)
        after += id == after
        plain = {"id": id, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
        result.append(plain | flags)
    return sorted(result, key=lambda token: token["id"])


def bos(token: str, ids: dict[str, int]) -> dict:
    return {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": token, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {token: {"id": token, "ids": [ids[token]], "tokens": [token]}},
    }


CHAT = ["<unk>", "<s>", "</s>", "<|turn|>", "<|/turn|>", ("<musing>", {"special": False})]
FLAGGED = [
    "<unk>", "<s>", "</s>", ("<|turn|>", {"lstrip": True}), ("<|/turn|>", {"rstrip": True}), ("<musing>", {"lstrip": True, "rstrip": True, "special": False}),
    ("</musing>", {"normalized": True, "special": False}), ("the", {"single_word": True, "special": False}), ("<|/tu", {"special": False}), ("mi", {"normalized": True, "special": False}),
]  # fmt: skip
GEMMA_ADDED = ["<unk>", "<s>", "</s>", "<|turn|>", ("<musing>", {"special": False}), *((text, {"special": False}) for text in ("\n", "\n\n", "\t", "▁▁", "▁▁▁▁", "<div>"))]


def forms(known: dict) -> dict[str, dict]:
    """The forms: the model's name and the parts around it. Of those marked `all`, every string is compared."""
    precompiled = {"type": "Precompiled", "precompiled_charsmap": known["charsmap"]}
    kinds = {kind: {"type": kind} for kind in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents")}
    albert = normalizers(replace("``", '"'), replace("''", '"'), kinds["NFKD"], kinds["StripAccents"], kinds["Lowercase"], precompiled, replace(" {2,}", " ", True))
    t5 = normalizers(precompiled, stripped(False, True), replace(" {2,}", "▁", True))

    def form(model, normalizer=None, pre_tokenizer=None, decoder=None, tokens=CHAT, **more):
        return {"model": model, "normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "decoder": decoder, "added": tokens, **more}

    def in_bytes(*parts, decoder=IN_BYTES, model="byte-level", tokens=("<|begin_of_text|>", "<|turn|>", "<|/turn|>"), **more):
        return form(model, None, pre_tokenizers(*parts), decoder, tokens, **more)

    return {
        "Llama 2: a mark in front, no words": form("bpe", LEGACY, None, LLAMA, bos="<s>", all=True),
        "Llama 2 with flags": form("bpe", LEGACY, None, LLAMA, FLAGGED, bos="<s>"),
        "Llama 2 without bytes, the unknown fused": form("bpe without bytes", LEGACY, None, LLAMA, flags={"byte_fallback": False}),
        "Llama 2 without bytes, the unknown apart": form("bpe without bytes", LEGACY, None, LLAMA, flags={"byte_fallback": False, "fuse_unk": False}),
        "Llama 2 with some bytes": form("bpe with some bytes", LEGACY, None, LLAMA),
        "Mistral: a mark in front of the text": form("bpe across words", None, metaspace("first", False), LLAMA, bos="<s>", all=True),
        "Mistral with flags": form("bpe", None, metaspace("first", False), LLAMA, FLAGGED, bos="<s>"),
        "a mark in front of each stretch": form("bpe across words", None, metaspace("always", False), decoders(BYTES, metaspace("always"))),
        "words with a mark in front": form("bpe across words", None, metaspace("always", True), metaspace("always"), bos="<s>"),
        "words, the first with a mark": form("bpe across words", None, metaspace("first", True), LLAMA, flags={"ignore_merges": True}),
        "words, unknown ones fused": form("bpe without bytes", None, metaspace("first", True), metaspace("first"), flags={"byte_fallback": False}),
        "words without a mark in front": form("bpe", None, metaspace("never", True), metaspace("never")),
        "no mark in front": form("bpe across words", None, metaspace("never", False), GEMMA),
        "Gemma: split behind spaces": form("bpe across words", MARKED, split(" ", "MergedWithPrevious", regex=False), GEMMA, GEMMA_ADDED, bos="<s>", all=True),
        "Gemma without words": form("bpe across words", MARKED, None, GEMMA, GEMMA_ADDED),
        "split at marks, each with what is before it": form("bpe across words", MARKED, split("▁", "MergedWithPrevious", regex=False), GEMMA),
        "split at marks, each with what is behind it": form("bpe across words", MARKED, split("▁", "MergedWithNext", regex=False), GEMMA),
        "split at marks, runs of them together": form("bpe across words", MARKED, split("▁|e", "Contiguous"), GEMMA),
        "split at marks, inverted": form("bpe across words", MARKED, split("[▁a-f]+", "MergedWithNext", True), GEMMA),
        "T5: a map of characters": form("unigram", t5, metaspace("always"), metaspace("always"), ["<pad>", "</s>", "<unk>", "<|turn|>", ("<musing>", {"special": False})], all=True),
        "T5 in words": form("unigram", precompiled, pre_tokenizers({"type": "WhitespaceSplit"}, metaspace()), metaspace(), ["<pad>", "</s>", "<unk>"]),
        "ALBERT: accents stripped": form("unigram", albert, metaspace("always"), metaspace("always"), ["<pad>", "</s>", "<unk>"]),
        "Unigram with bytes": form("unigram with bytes", LEGACY, None, LLAMA, bos="<s>", all=True),
        "Unigram with bytes and words": form("unigram with bytes", None, metaspace("first"), LLAMA, FLAGGED),
        "Unigram in NFC": form("unigram", kinds["NFC"], metaspace("first"), metaspace("first"), ["<unk>", "</s>"]),
        "Unigram in NFD": form("unigram", kinds["NFD"], metaspace("always", False), metaspace("always"), ["<unk>"]),
        "Unigram in NFKC, stripped": form("unigram", normalizers(kinds["NFKC"], stripped(True, True), kinds["Lowercase"]), metaspace("always"), metaspace("always"), ["<unk>"]),
        "SmolLM3, OLMo 2: the pattern of Llama 3": in_bytes(split(LLAMA3_SPLIT), byte_level(), flags={"ignore_merges": True}),
        "OLMo 2: the same by removal": in_bytes(split(LLAMA3_SPLIT, "Removed", True), byte_level(), decoder=decoders(IN_BYTES)),
        "Phi-4-mini: the pattern of GPT-4o": in_bytes(split(O200K_SPLIT, "Removed", True), byte_level(), tokens=("<|begin_of_text|>", ("<|turn|>", {"rstrip": True}), ("<|/turn|>", {"rstrip": True})), all=True),
        "Granite 3: digits apart, words of GPT-2": in_bytes(digits(True), byte_level(True), model="byte-level gpt2", tokens=("<|endoftext|>", "<|turn|>"), decoder=decoders(IN_BYTES)),
        "several splits": in_bytes(split("[\r\n]", "Isolated"), split("\\s?\\p{L}+"), split("\\s?\\p{P}+"), split("[一-龥ࠀ-一가-퟿]+"), digits(False), byte_level()),
    }  # fmt: skip


def definition(known: dict, form: dict) -> dict:
    """The `tokenizer.json` of a form."""
    model = known[form["model"]] | form.get("flags", {})
    tokens = added(model, *form["added"])
    ids = {token["content"]: token["id"] for token in tokens}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": tokens,
        "normalizer": form["normalizer"],
        "pre_tokenizer": form["pre_tokenizer"],
        "post_processor": bos(form["bos"], ids) if "bos" in form else None,
        "decoder": form["decoder"],
        "model": model,
    }
