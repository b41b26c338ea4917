"""Rows of a micro-batch, scored again by the trainer's own method."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch

from .declared import sampler_temperature
from .graded import answer_column

# Rows that are scored again.
PROBED_ROWS = 2
# Prompts of larger datasets take too long to compare.
MOST_PROMPTS = 200_000
# Draws from the data that the held-out answers are compared with, and most rows of one.
DRAWS = 10_000
MOST_DRAWN = 1000
# Rows of the embedding whose distance from the mean is the usual one, and the share of it below which nothing has trained a row.
MEASURED_ROWS = 1000
UNTRAINED = 0.01
DROPOUT_RATES = ("attention_dropout", "activation_dropout", "dropout")


def active_dropout(model) -> list[str]:
    """Modules in training mode that drop something."""
    names = []
    for name, module in model.named_modules():
        if not module.training:
            continue
        if isinstance(module, torch.nn.modules.dropout._DropoutNd):
            names += [name] if module.p > 0 else []
        else:
            rates = {rate: getattr(module, rate, None) for rate in DROPOUT_RATES}
            names += [f"{name}.{rate}" for rate, p in rates.items() if isinstance(p, float) and p > 0]
    return names


def probe(trainer, method, rollout, scoring, inputs, mask, rows, lengths) -> dict:
    """Scores a few rows again by the trainer's own method, in the very mode and precision of its scoring."""
    prompts, attended = inputs["prompt_ids"], inputs["prompt_mask"]
    completions, attended_completions = inputs["completion_ids"], inputs["completion_mask"]
    ids = torch.cat([prompts, completions], 1)[:PROBED_ROWS]
    attention = torch.cat([attended, attended_completions], 1)[:PROBED_ROWS]

    def score(input_ids=ids, attention_mask=attention, keep=completions.shape[1]):
        return method(scoring.model, input_ids, attention_mask, keep)[0].float().cpu()

    probes = {}
    with torch.no_grad(), random_states_kept():
        few = mask[:PROBED_ROWS]
        if few.any():
            probes["repeatedScoring"] = difference(score()[few], score()[few])
        # The row with most padding has most to lose.
        padding = (attended == 0).sum(1).cpu() - torch.tensor(lengths)
        j = int(torch.where(mask.any(1), padding, -(2**31)).argmax())
        if mask[j].any():
            length, inside = lengths[j], mask[j, : lengths[j]]
            own = torch.cat([prompts[j][attended[j].bool()], completions[j, :length]])[None]
            single = score(own, torch.ones_like(own), length)[0]
            probes["aloneInBatch"] = difference(single[inside], scoring.logprobs[j, :length].float().cpu()[inside])
        declared = trainer.temperature
        temperatures = sorted({1.0, float(declared), float(sampler_temperature(trainer))})
        if len(temperatures) > 1 and rollout.plain:
            sampler = torch.full(few.shape, math.nan)
            for j, row in enumerate(rows[:PROBED_ROWS]):
                sampler[j, : len(rollout.plain[row])] = torch.tensor(rollout.plain[row])
            few = few & ~sampler.isnan()
            try:
                probes["temperatures"] = []
                for trainer.temperature in temperatures:
                    gap = difference(score()[few], sampler[few])
                    probes["temperatures"].append({"temperature": trainer.temperature, **gap})
            finally:
                trainer.temperature = declared
    return probes


def held_out_prompts(trainer) -> dict:
    """Different prompts of the evaluation, how many of them are in the training data, and how many have other parts than any
    prompt there; empty where either cannot be read."""
    evaluation = trainer.eval_dataset
    parts = list(evaluation.values()) if isinstance(evaluation, dict) else [evaluation]
    columns = [_prompts(part) for part in [trainer.train_dataset, *parts]]
    if any(column is None for column in columns):
        return {}
    trained, *others = columns
    held_out = set().union(*others)
    own_parts = {_parts(prompt) for prompt in trained}
    unlike = sum(_parts(prompt) not in own_parts for prompt in held_out)
    answers = distinct_answers(trainer.train_dataset, parts)
    plain = {_spoken(prompt) for prompt in trained}
    alike = sum(_spoken(prompt) in plain for prompt in held_out)
    counts = {"prompts": len(held_out), "trained": len(held_out & trained), "alike": alike, "unlike": unlike}
    return counts | ({"answers": answers} if answers else {})


def contradictions(dataset) -> dict | None:
    """Of the prompts that stand in the data with a number for an answer, how many have two different ones, and one of them."""
    column = answer_column(dataset[0]) if _is_read(dataset) and len(dataset) > 0 else None
    if column is None:
        return None
    first, contradicted = {}, {}
    for prompt, answer in zip(dataset["prompt"], dataset[column], strict=True):
        try:
            number = float(str(answer).replace(",", ""))
        except ValueError:
            continue
        key = json.dumps(prompt, sort_keys=True, default=str)
        other = first.setdefault(key, number)
        if other != number:
            contradicted.setdefault(key, [other, number])
    told = {"prompts": len(first), "contradicted": len(contradicted)}
    if contradicted:
        key, answers = next(iter(contradicted.items()))
        told |= {"prompt": json.loads(_spoken(key))[-1], "answers": answers}
    return told if first else None


def distinct_answers(trained, held_out: list) -> dict | None:
    """How many different reference answers the held-out rows have, which one most of them, and how few as many rows have at
    least that are drawn, again and again, from the data that is trained on."""
    column = answer_column(trained[0]) if len(trained) > 0 else None
    if column is None or any(column not in part.column_names for part in held_out):
        return None
    counts = Counter(str(answer) for part in held_out for answer in part[column])
    if not 0 < counts.total() <= MOST_DRAWN:
        return None
    _, own = np.unique([str(answer) for answer in trained[column]], return_inverse=True)
    draws = np.sort(np.random.default_rng(0).choice(own, (DRAWS, counts.total())), axis=1)
    least = int(((np.diff(draws, axis=1) != 0).sum(axis=1) + 1).min())
    [(answer, count)] = counts.most_common(1)
    return {"rows": counts.total(), "distinct": len(counts), "least": least, "answer": answer, "has": count}


def added_tokens(model, tokenizer, prompts: list[list[int]]) -> list[dict]:
    """Tokens of prompts whose embedding no checkpoint has: their rows were added after the model was loaded, or are the mean
    of all rows, as those of a resize are."""
    embedding = getattr(model.get_input_embeddings(), "weight", None)
    # A sharded one has no rows here.
    if embedding is None or embedding.dim() != 2 or len(embedding) == 0:
        return []
    ids = sorted({i for ids in prompts for i in ids if i < len(embedding)})
    with torch.no_grad():
        mean = embedding.float().mean(0)
        others = torch.linspace(0, len(embedding) - 1, MEASURED_ROWS, device=embedding.device).long()
        usual = (embedding[others].float() - mean).norm(dim=1).median()
        distances = (embedding[ids].float() - mean).norm(dim=1).tolist()
    known = _vocabulary_of(model)
    return [
        {"token": tokenizer.decode([i]), "id": i, "trained": embedding.requires_grad}
        for i, distance in zip(ids, distances, strict=True)
        if i >= known or distance < UNTRAINED * float(usual)
    ]


def _vocabulary_of(model) -> float:
    """Rows of the embedding in the folder that the model was loaded from; no bound where there is no such folder."""
    path = Path(getattr(model.config, "_name_or_path", "") or "", "config.json")
    config = json.loads(path.read_text()) if path.is_file() else {}
    return config.get("vocab_size", math.inf)


def _spoken(prompt: str) -> str:
    """A prompt without what differs in white space and case alone."""
    said = json.loads(prompt, object_hook=lambda message: message.get("content"))
    return json.dumps([" ".join(str(text).split()).lower() for text in (said if isinstance(said, list) else [said])])


def _parts(prompt: str) -> tuple:
    """The roles of a prompt's messages; none of a text."""
    messages = json.loads(prompt)
    if not isinstance(messages, list):
        return ()
    return tuple(message.get("role") if isinstance(message, dict) else None for message in messages)


def merged_adapters(model) -> bool:
    """Whether adapters of PEFT are added to the weights for good, where they get no gradient."""
    return any(getattr(module, "merged", False) is True for module in model.modules())


def prompts_of(rows: list[dict]) -> list:
    """Prompts of a batch; none of one with images, which TRL puts into them."""
    return [] if any(name in row for row in rows for name in ("image", "images")) else [row.get("prompt") for row in rows]


def _is_read(dataset) -> bool:
    if "prompt" not in (getattr(dataset, "column_names", None) or []) or not hasattr(dataset, "__len__"):
        return False
    # A transform would be called for every row, and may draw random numbers of the run.
    return len(dataset) <= MOST_PROMPTS and dataset.format["type"] is None


def _prompts(dataset) -> set | None:
    """Prompts of a dataset that is held in memory or on disk, and gives its rows as they are."""
    if not _is_read(dataset):
        return None
    return {json.dumps(prompt, sort_keys=True, default=str) for prompt in dataset["prompt"]}


def random_state(device: torch.device) -> int:
    """The state of the random numbers that sampling draws, as one number."""
    states = [torch.get_rng_state(), *([torch.cuda.get_rng_state(device)] if device.type == "cuda" else [])]
    return hash(b"".join(bytes(state.numpy()) for state in states))


def difference(a: torch.Tensor, b: torch.Tensor) -> dict:
    gap = (a.double() - b.double()).abs()
    return {"mean": float(gap.mean()), "max": float(gap.max()), "tokens": gap.numel()}


@contextmanager
def random_states_kept():
    kept = random.getstate(), np.random.get_state(), torch.get_rng_state()
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else None
    try:
        yield
    finally:
        random.setstate(kept[0])
        np.random.set_state(kept[1])
        torch.set_rng_state(kept[2])
        if cuda is not None:
            torch.cuda.set_rng_state_all(cuda)
