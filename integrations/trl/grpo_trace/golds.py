"""Reference answers of several rows, written as a paid completion is, and graded: a grader may not be able to read some."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from .declared import tokenizer_of
from .graded import Graded, answer_column, form_of, text_of

# Rows whose answers are graded, and those among which they are looked for.
MOST_GRADED = 12
MOST_READ = 2000
# A longer one is a worked solution.
LONGEST_ANSWER = 40
# Answers that read as nothing where their number is asked whether it is there.
FALSE = ("0", "0.0")


def golds_graded(regrade, used) -> list[dict]:
    """How many rows pay their own answer less than half of what the best completion earned, and one such answer: of the rows
    that are trained on, and of those held out. Nothing where no paid completion has the answer of its row in it."""
    rows = regrade.rollout.data
    column = answer_column(rows[0])
    best = max((value for value in used if not math.isnan(value)), default=0.0)
    if column is None or not best > 0:
        return []
    paid = (row for row, value in enumerate(used) if value == best)
    tokenizer = tokenizer_of(regrade.trainer)
    puts = (put for put in (_form_around(regrade.graded(row), column, tokenizer) for row in paid) if put)
    put = next(puts, None)
    if put is None:
        return []
    evaluation = regrade.trainer.eval_dataset
    parts = evaluation.values() if isinstance(evaluation, dict) else [evaluation]
    trained = _varied([regrade.trainer.train_dataset], rows, column)
    held_out = _varied([part for part in parts if part is not None], [], column)
    # A reward that asks for more columns than these rows have is told of elsewhere.
    held_out = [row for row in held_out if all(key in row for key in regrade.columns)]

    def count(of: list[dict]) -> dict:
        earned = [(_answer(row, column), regrade.grade([put(row)])[0]) for row in of]
        told = [(answer, value) for answer, value in earned if not math.isnan(value)]
        unpaid = [answer for answer, value in told if value < best / 2]
        return {"graded": len(told), "unpaid": len(unpaid), **({"answer": unpaid[0]} if unpaid else {})}

    return [count(trained), *([count(held_out) | {"heldOut": True}] if held_out else [])]


def _answer(row: dict, column: str) -> str:
    return str(row[column]).strip()


def _form_around(one: Graded, column: str, tokenizer) -> Callable[[dict], Graded] | None:
    """Writes another row's answer into a completion, in the place of its own; None where that does not stand there once."""
    answer = _answer(one.data, column)
    parts = re.split(rf"(?<![\w.+-]){re.escape(answer)}(?![\w.])", text_of(one.completion)) if answer else []
    if len(parts) != 2 or len(answer) > LONGEST_ANSWER:
        return None

    def put(row: dict) -> Graded:
        # As rewards get it: from ids, without special tokens.
        text = tokenizer.decode(tokenizer(_answer(row, column).join(parts))["input_ids"], skip_special_tokens=True)
        completion = text if isinstance(one.completion, str) else [{"role": "assistant", "content": text}]
        return Graded(row, completion, one.ids)

    return put


def _varied(datasets: list, seen: list[dict], column: str) -> list[dict]:
    """Rows whose answers differ in form: one that Python takes for false, and those with a sign, a point, many digits or words
    come before further alike ones."""
    rows = list(seen)
    for dataset in datasets:
        if hasattr(dataset, "__len__") and getattr(dataset, "format", {}).get("type", True) is None:
            rows += [dataset[i] for i in range(0, len(dataset), math.ceil(len(dataset) / MOST_READ) or 1)]
    by_form: dict[str, list[dict]] = {}
    for row in rows:
        answer = row.get(column)
        if isinstance(answer, (str, int, float)) and 0 < len(str(answer).strip()) <= LONGEST_ANSWER:
            form = FALSE if str(answer).strip() in FALSE else form_of(str(answer))
            by_form.setdefault(form, []).append(row)
    in_turn = [own[i] for i in range(MOST_GRADED) for own in by_form.values() if i < len(own)]
    return in_turn[:MOST_GRADED]
