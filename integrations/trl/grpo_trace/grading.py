"""Reward functions, overheard where they are called, and called again on a few completions."""

from __future__ import annotations

import asyncio
import functools
import inspect
import math
import random
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import torch

from .golds import golds_graded
from .graded import Graded, form_of, text_of

# Completions that are graded again.
GRADED_AGAIN = 6
# Completions of a batch up to which each is graded alone, where some earn something else so.
MOST_EXCHANGED = 256
# Those of the first rollout that are graded again in later ones, too.
KEPT = 3
# Columns of a call that say what is graded; the others are of the data.
GRADED = ("prompts", "completions", "completion_ids")
# Parameters that TRL fills itself, not every version all of them.
OF_TRL = ("trainer_state", "log_extra", "log_metric", "environments")


@dataclass
class _Heard:
    """One reward function, with the arguments of its calls in a rollout."""

    function: object
    calls: list = field(default_factory=list)
    is_listening: bool = False
    # Completions of an earlier step, with what they earned alone then.
    kept: list[tuple[Graded, float]] = field(default_factory=list)
    kept_at: int = 0
    # Whether reference answers have been graded.
    has_golds: bool = False

    def hear(self, call: dict) -> None:
        if self.is_listening:
            self.calls.append(call)


class Grading:
    def __init__(self):
        self.heard = []

    def listening(self, functions) -> list:
        """The same functions, overheard; models are left alone."""
        self.heard = [_Heard(function) for function in functions]
        return [one.function if isinstance(one.function, torch.nn.Module) else _listener(one) for one in self.heard]

    @contextmanager
    def hearing(self):
        """Hears the calls of one rollout."""
        for one in self.heard:
            one.calls, one.is_listening = [], True
        try:
            yield
        finally:
            for one in self.heard:
                one.is_listening = False

    def unfilled(self) -> list:
        """Parameters of the functions that are None by default, and that no column of the data was passed for."""
        found = []
        for one in self.heard:
            if isinstance(one.function, torch.nn.Module) or not one.calls:
                continue
            try:
                parameters = inspect.signature(one.function).parameters.values()
            except ValueError:  # Functions of C have none.
                continue
            given = {*one.calls[0], *OF_TRL}
            lacking = [p.name for p in parameters if p.default is None and p.name not in given]
            name = getattr(one.function, "__name__", type(one.function).__name__)
            found += [{"reward": name, "parameter": parameter} for parameter in lacking]
        return found

    def completions(self, rows: int) -> list | None:
        """Completions as the functions were given them, if one was given all."""
        for one in self.heard:
            seen = [completion for call in one.calls for completion in call["completions"]]
            if len(seen) == rows:
                return seen
        return None


def _listener(one: _Heard):
    if inspect.iscoroutinefunction(one.function):

        @functools.wraps(one.function)
        async def listener(*args, **kwargs):
            one.hear(kwargs)
            return await one.function(*args, **kwargs)

    else:

        @functools.wraps(one.function)
        def listener(*args, **kwargs):
            one.hear(kwargs)
            return one.function(*args, **kwargs)

    return listener


def grade_again(trainer, grading: Grading, rollout, name_of, prompt_of) -> tuple[dict, list]:
    """Grades a few completions again. Returns pairs by reward (value used, value that the completion earns alone), and what
    is missing.

    A completion is graded with its own row of the data, whatever place its reward stands at.
    """
    pairs, missing = {}, []
    used = rollout.rewards[-1]
    rows = len(used)
    if not rollout.sampled or len(rollout.sampled) != rows:
        return {}, ["completions as they were sampled"]
    if getattr(trainer, "environments", None):
        return {}, ["an environment as it was when the completion was graded"]
    rollout.probes["unstable"] = []
    for k, one in enumerate(grading.heard):
        name = name_of[k]
        if isinstance(one.function, torch.nn.Module):
            missing.append(f"{name}: a plain form of a reward model")
            continue
        if not one.calls:
            missing.append(f"{name}: a call of it, which the trainer never made")
            continue
        seen = {_key(c) for call in one.calls for c in call["completions"]}
        if any(_key(completion) not in seen for completion in rollout.sampled):
            missing.append(f"{name}: completions as they were sampled; it was given others")
            continue
        regrade = _Regrade(trainer, one, rollout)
        texts = [text_of(completion) for completion in rollout.sampled]
        chosen = _chosen(used[:, k], texts, trainer.args.seed + rollout.step)
        try:
            own = regrade.plain(chosen, used[:, k])
        except Exception as error:  # noqa: BLE001: of the user's function, called as TRL does not call it
            missing.append(f"{name}: it raised {type(error).__name__} when it graded again: {error}")
            continue
        if own is None:
            missing.append(f"{name}: a reward that is the same twice")
            rollout.probes["unstable"].append(name)
            continue
        try:
            joined = regrade.joined(range(rows), used[:, k])
        except Exception as error:  # noqa: BLE001: the same, on a text that the model did not write
            missing.append(f"{name}: its values without line breaks: it raised {type(error).__name__}: {error}")
            joined = None
        if joined:
            rollout.probes.setdefault("lineBreaks", []).append({"reward": name, **joined})
        try:
            drift = regrade.drift()
        except Exception as error:  # noqa: BLE001: the same, on a completion of an earlier step
            missing.append(f"{name}: values of an earlier step: it raised {type(error).__name__}: {error}")
            drift = None
        if drift:
            rollout.probes.setdefault("drift", []).append({"reward": name, **drift})
        if regrade.together:
            rollout.probes.setdefault("together", []).append({"reward": name, **regrade.together})
        # A value in which the rest of the batch has a part tells nothing of time.
        elif not one.kept and all(_agrees(used[row, k], value) for row, value in zip(chosen, own, strict=True)):
            one.kept = [(regrade.graded(row), value) for row, value in zip(chosen, own, strict=True)][:KEPT]
            one.kept_at = rollout.step
        # Until a completion with its answer is paid, there is no form to write others in.
        if one.kept and not one.has_golds:
            try:
                golds = golds_graded(regrade, used[:, k])
            except Exception as error:  # noqa: BLE001: the same, on an answer of another row
                missing.append(f"{name}: values of reference answers: it raised {type(error).__name__}: {error}")
                golds = []
            if golds:
                one.has_golds = True
                rollout.probes.setdefault("golds", []).extend({"reward": name, **of} for of in golds)
        if regrade.exchanged:
            row, other = regrade.exchanged
            own = {"found": f"completion {other + 1}", "plain": f"completion {row + 1}", "deviation": 1.0, "bound": 0.0}
            pairs[f"completion that the value of the reward {name} belongs to"] = [own | {"completion": row}]
            continue
        pairs[f"reward {name}"] = [
            {
                "found": float(used[row, k]),
                "plain": value,
                # The trainer keeps rewards in float32.
                "bound": 0.0 if value != value else torch.finfo(torch.float32).eps * abs(value),
                "deviation": _distance(float(used[row, k]), value),
                "completion": row,
                "prompt": prompt_of[row],
            }
            for row, value in zip(chosen, own, strict=True)
        ]
    return pairs, missing


class _Regrade:
    def __init__(self, trainer, one: _Heard, rollout):
        self.trainer, self.one, self.rollout = trainer, one, rollout
        # Columns that rows of the data lack, such as the trainer's state; the logs of a run are its own.
        rows = rollout.data
        first = one.calls[0]
        self.columns = [key for key in first if key in rows[0] and key not in GRADED]
        self.others = {key: value for key, value in first.items() if key not in GRADED and key not in rows[0]}
        self.others |= {key: _nothing for key in ("log_extra", "log_metric") if key in first}
        self.told = [key for key in GRADED if key in first]
        # What some completions earned, and earn alone, by a reward that depends on the others.
        self.together: dict | None = None
        # A completion and the one that its value belongs to, where values stand in another order.
        self.exchanged: tuple[int, int] | None = None

    def plain(self, chosen: list[int], used) -> list[float] | None:
        """Rewards of these rows, each graded alone; or, where a reward depends on its batch, in the batch in another
        order. None for a reward that changes from call to call."""
        alone = [self.grade_rows([row])[0] for row in chosen]
        if all(_agrees(used[row], value) for row, value in zip(chosen, alone, strict=True)):
            return alone
        whole = list(range(len(used)))
        first, again = self.grade_rows(whole), self.grade_rows(whole)
        self.exchanged = self._exchanged(used) if len(used) <= MOST_EXCHANGED else None
        if self.exchanged:
            return alone
        if not all(_agrees(a, b) for a, b in zip(first, again, strict=True)):
            return None
        changed = [i for i, row in enumerate(chosen) if not _agrees(used[row], alone[i])]
        most = max(changed, key=lambda i: _distance(used[chosen[i]], alone[i]))
        self.together = {
            "graded": len(chosen),
            "changed": len(changed),
            "earned": _or_none(float(used[chosen[most]])),
            "earns": _or_none(alone[most]),
            "equal": all(_distance(float(value), float(used[0])) == 0 for value in used),
        }
        # Backwards groups stay together.
        backwards = self.grade_rows(whole[::-1])[::-1]
        return [backwards[row] for row in chosen]

    def _exchanged(self, used) -> tuple[int, int] | None:
        """A completion with the value of another one, where each earns alone, again and again, what some other one was given;
        in which order may change from call to call."""
        alone, again = ([self.grade_rows([row])[0] for row in range(len(used))] for _ in range(2))
        if not all(_agrees(a, b) for a, b in zip(alone, again, strict=True)):
            return None
        pairs = zip(sorted(alone), sorted(float(value) for value in used), strict=True)
        if not all(_agrees(a, b) for a, b in pairs):
            return None
        row = next(row for row, value in enumerate(used) if not _agrees(value, alone[row]))
        return row, next(other for other, value in enumerate(alone) if _agrees(used[row], value))

    def joined(self, rows, used) -> dict | None:
        """How many completions with line breaks earn nothing, and how many of them more without: of a few, where none
        earns anything."""
        if any(value != 0 for value in used):
            return None
        broken = [row for row in rows if "\n" in text_of(self.rollout.sampled[row]).strip()][:GRADED_AGAIN]
        joined = [replace(one, completion=_without_breaks(one.completion)) for one in map(self.graded, broken)]
        earned = [self.grade([one])[0] for one in joined]
        return {"graded": len(broken), "earned": sum(value > 0 for value in earned)} if broken else None

    def drift(self) -> dict | None:
        """Of completions of an earlier step, how many earn something else now, and the one that changed most. None where
        none were kept, or where the values change from call to call."""
        if not self.one.kept:
            return None
        kept, then = zip(*self.one.kept, strict=True)

        def now():
            return [self.grade([one])[0] for one in kept]

        values = now()
        changed = [i for i, (a, b) in enumerate(zip(then, values, strict=True)) if not _agrees(a, b)]
        if changed and not all(_agrees(a, b) for a, b in zip(values, now(), strict=True)):
            return None
        told = {"since": self.one.kept_at, "graded": len(kept), "changed": len(changed)}
        if changed:
            # A value that is there no more, or was not, differs most.
            most = max(changed, key=lambda i: math.inf if math.isnan(then[i] - values[i]) else abs(then[i] - values[i]))
            told |= {"earned": _or_none(then[most]), "earns": _or_none(values[most])}
        return told

    def graded(self, row: int) -> Graded:
        rollout = self.rollout
        return Graded(rollout.data[row], rollout.sampled[row], rollout.ids[row])

    def grade_rows(self, rows: list[int]) -> list[float]:
        return self.grade([self.graded(row) for row in rows])

    def grade(self, graded: list[Graded]) -> list[float]:
        given = {
            "prompts": [one.data["prompt"] for one in graded],
            "completions": [one.completion for one in graded],
            "completion_ids": [one.ids for one in graded],
        }
        columns = {key: [one.data[key] for one in graded] for key in self.columns}
        output = self.one.function(**{key: given[key] for key in self.told}, **columns, **self.others)
        if inspect.isawaitable(output):
            output = asyncio.run_coroutine_threadsafe(output, self.trainer.async_loop).result()
        return [float("nan") if value is None else float(value) for value in output]


def _without_breaks(completion):
    """The completion with a space for each line break."""
    if isinstance(completion, str):
        return completion.replace("\n", " ")
    contents = [message.get("content") for message in completion]
    return [
        {**message, "content": content.replace("\n", " ")} if isinstance(content, str) else message
        for message, content in zip(completion, contents, strict=True)
    ]


def _nothing(*args, **kwargs) -> None:
    pass


def _chosen(values, texts: list[str], seed: int) -> list[int]:
    """Rows of different rewards, where one at another's place shows, and in turn rows whose texts have a rare form, the
    best paid first: a reward that cannot read a text may give it anything."""
    order = random.Random(seed).sample(range(len(values)), len(values))
    seen, first, others = set(), [], []
    for row in order:
        value = str(values[row])
        (others if value in seen else first).append(row)
        seen.add(value)
    forms = [form_of(text) for text in texts]
    counts = Counter(forms)
    rare = sorted(order, key=lambda row: (counts[forms[row]], -_paid(values[row])))
    in_turn = [row for pair in zip(first + others, rare, strict=True) for row in pair]
    return sorted(list(dict.fromkeys(in_turn))[:GRADED_AGAIN])


def _paid(value) -> float:
    return -math.inf if math.isnan(value) else float(value)


def _agrees(a: float, b: float) -> bool:
    distance = _distance(a, b)
    return distance == 0 or distance <= torch.finfo(torch.float32).eps * abs(b)


def _distance(a: float, b: float) -> float:
    """Both without a reward are the same."""
    return 0.0 if a == b or (a != a and b != b) else abs(a - b)


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def _key(completion) -> str:
    return repr(completion)
