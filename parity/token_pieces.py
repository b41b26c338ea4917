"""Holds the bytes that the recorder writes of tokens to what tokenizers of transformers decode.

A byte-level vocabulary, and one of SentencePiece's kind with single bytes. Exits 1 when put together they are another text.
"""

import sys

from tokenizers import Tokenizer, decoders, models, normalizers
from transformers import PreTrainedTokenizerFast

from tiny_tokenizer import tiny_tokenizer
from trl_cases import grpo_trace

TEXTS = ["the one, in the sum", "naïve 👍🏽 ≠", " two  spaces\n\tand lines ", "<|end|>the"]


def sentence_piece() -> PreTrainedTokenizerFast:
    tokens = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), "\u2581", *"thensum", "th", "the"]
    merges = [("t", "h"), ("th", "e")]
    model = models.BPE({token: i for i, token in enumerate(tokens)}, merges, unk_token="<unk>", byte_fallback=True)
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens(["<|end|>"])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def joined(tokenizer, ids: list[int]) -> str:
    arrays = grpo_trace.pieces.pieces_of(tokenizer, [ids, ids[:1]])
    found, data, lengths = (arrays[f"tokenizer.pieces.{key}"] for key in ("ids", "bytes", "lengths"))
    ends = lengths.cumsum().tolist()
    pieces = {id: data[end - size : end].tobytes() for id, end, size in zip(found.tolist(), ends, lengths.tolist())}
    return b"".join(pieces[id] for id in ids).decode()


wrong = 0
for name, tokenizer in (("byte-level", tiny_tokenizer(chat=True)), ("SentencePiece", sentence_piece())):
    for text in TEXTS:
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        decoded = tokenizer.decode(ids, clean_up_tokenization_spaces=False)
        equal = joined(tokenizer, ids) == decoded == text
        wrong += not equal
        print(f"{name:14} {text!r:40} {len(ids):3} tokens  {'equal' if equal else 'OTHER'}")
sys.exit(wrong > 0)
