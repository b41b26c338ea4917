"""The bytes of tokens, so that a page can show them without the tokenizer."""

from __future__ import annotations

import re

import numpy as np

# The byte that each character of a byte-level vocabulary stands for (GPT-2): printable Latin-1 stands for itself.
PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
MOVED = [byte for byte in range(256) if byte not in PRINTABLE]
BYTE_OF = {chr(byte): byte for byte in PRINTABLE} | {chr(256 + i): byte for i, byte in enumerate(MOVED)}


def pieces_of(tokenizer, rows) -> dict:
    """The arrays of `tokenizer.pieces`: the ids that occur in rows of ids, and their bytes."""
    ids = np.unique(np.concatenate([np.array(row, np.int32) for row in rows]))
    vocabulary = tokenizer.get_vocab()
    bytes_of = _byte_level if all(char in vocabulary for char in BYTE_OF) else _sentence_piece
    added = {id: str(token) for id, token in tokenizer.added_tokens_decoder.items()}
    pieces = [
        added[id].encode() if id in added else bytes_of(token or "")
        for id, token in zip(ids.tolist(), tokenizer.convert_ids_to_tokens(ids.tolist()))
    ]
    return {
        "tokenizer.pieces.ids": ids,
        "tokenizer.pieces.bytes": np.frombuffer(b"".join(pieces), np.uint8),
        "tokenizer.pieces.lengths": np.array([len(piece) for piece in pieces], np.int32),
    }


def _byte_level(token: str) -> bytes:
    known = all(char in BYTE_OF for char in token)
    return bytes(BYTE_OF[char] for char in token) if known else token.encode()


def _sentence_piece(token: str) -> bytes:
    byte = re.fullmatch(r"<0x([0-9A-Fa-f]{2})>", token)
    return bytes([int(byte[1], 16)]) if byte else token.replace("\u2581", " ").encode()
