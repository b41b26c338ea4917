"""Completions with their rows, as reward functions grade them."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Columns of the data that hold a reference answer, by TRL's habit.
ANSWER_COLUMNS = ("answer", "solution")


@dataclass
class Graded:
    """A completion with its row of the data."""

    data: dict
    completion: object
    ids: list


def answer_column(row: dict) -> str | None:
    return next((name for name in ANSWER_COLUMNS if isinstance(row.get(name), (str, int, float))), None)


def form_of(text: str) -> str:
    """A text without what differs from answer to answer: its words and numbers."""
    return re.sub(r"\s+", " ", re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "0", text)))


def text_of(completion) -> str:
    """A completion as text: itself, or what its messages of the assistant say."""
    if isinstance(completion, str):
        return completion
    contents = [message.get("content") or "" for message in completion if message.get("role") == "assistant"]
    texts = [c if isinstance(c, str) else "".join(part.get("text", "") for part in c) for c in contents]
    return "\n".join(texts)
