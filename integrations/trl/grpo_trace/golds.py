"""Reference answers of several rows, written as a paid completion is, and graded: a grader may not be able to read some."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from .graded import Graded, answer_column, form_of, text_of

# Rows whose answers are graded, and those among which they are looked for.
MOST_GRADED = 12
MOST_READ = 2000
# A longer one is a worked solution.
LONGEST_ANSWER = 40


def golds_graded(regrade, used) -> dict | None:
    """How many rows pay their own answer less than half of what the best completion earned, and one such answer. None where
    no paid completion has the answer of its row in it."""
    rows = regrade.rollout.data
    column = answer_column(rows[0])
    best = max((value for value in used if not math.isnan(value)), default=0.0)
    if column is None or not best > 0:
        return None
    paid = (row for row, value in enumerate(used) if value == best)
    puts = (put for put in (_form_around(regrade.graded(row), column) for row in paid) if put)
    put = next(puts, None)
    if put is None:
        return None
    graded = [(_answer(row, column), put(row)) for row in _varied(regrade.trainer.train_dataset, rows, column)]
    earned = [(answer, regrade.grade([one])[0]) for answer, one in graded]
    told = [(answer, value) for answer, value in earned if not math.isnan(value)]
    unpaid = [answer for answer, value in told if value < best / 2]
    return {"graded": len(told), "unpaid": len(unpaid), **({"answer": unpaid[0]} if unpaid else {})}


def _answer(row: dict, column: str) -> str:
    return str(row[column]).strip()


def _form_around(one: Graded, column: str) -> Callable[[dict], Graded] | None:
    """Writes another row's answer into a completion, in the place of its own; None where that does not stand there once."""
    answer = _answer(one.data, column)
    parts = re.split(rf"(?<![\w.+-]){re.escape(answer)}(?![\w.])", text_of(one.completion)) if answer else []
    if len(parts) != 2 or len(answer) > LONGEST_ANSWER:
        return None

    def put(row: dict) -> Graded:
        text = _answer(row, column).join(parts)
        completion = text if isinstance(one.completion, str) else [{"role": "assistant", "content": text}]
        return Graded(row, completion, one.ids)

    return put


def _varied(dataset, seen: list[dict], column: str) -> list[dict]:
    """Rows whose answers differ in form: those with a sign, a point, many digits or words come before further alike ones."""
    rows = seen
    if hasattr(dataset, "__len__") and getattr(dataset, "format", {}).get("type", True) is None:
        rows = [*seen, *(dataset[i] for i in range(0, len(dataset), math.ceil(len(dataset) / MOST_READ)))]
    by_form: dict[str, list[dict]] = {}
    for row in rows:
        answer = row.get(column)
        if isinstance(answer, (str, int, float)) and 0 < len(str(answer).strip()) <= LONGEST_ANSWER:
            by_form.setdefault(form_of(str(answer)), []).append(row)
    in_turn = [own[i] for i in range(MOST_GRADED) for own in by_form.values() if i < len(own)]
    return in_turn[:MOST_GRADED]
