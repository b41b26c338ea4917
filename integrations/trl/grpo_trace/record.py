"""A step record: its JSON, its arrays, its two files."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save

from .declared import around_answer, declared, most_tokens, tokenizer_of
from .errors import RecorderError
from .graded import answer_column
from .pieces import pieces_of
from .rollout import Rollout

# Version of the step record: see docs/step-record.md.
RECORD_VERSION = 3


def record_of(trainer, rollout: Rollout, facts: dict, text_changes: list | None) -> tuple[dict, dict]:
    """The record as JSON, and its arrays by their paths in it."""
    if sorted(rollout.scored) != list(range(len(rollout.data))):
        raise RecorderError(f"of {len(rollout.data)} sampled rows {len(rollout.scored)} were scored")
    scored = [rollout.scored[row] for row in range(len(rollout.data))]
    prompt_ids = rollout.prompt_ids or [own.prompt for own in scored]
    prompt_of = _prompt_of(prompt_ids, trainer.num_generations)
    first = [prompt_of.index(p) for p in range(max(prompt_of) + 1)]
    # Prompts that were scored with other ids than they were sampled from.
    others = {p: own.prompt for p, ids, own in zip(prompt_of, prompt_ids, scored) if own.prompt != ids}
    scored_prompts = [others.get(p, scored[row].prompt) for p, row in enumerate(first)]
    data = [rollout.data[row] for row in first]
    decode = tokenizer_of(trainer).decode
    conversational = isinstance(data[0]["prompt"], list)
    answers = answer_column(data[0])
    end_ids = facts["tokenizer"]["endIds"]
    record = {
        "format": "grpo-step",
        "version": RECORD_VERSION,
        "step": rollout.step,
        **facts,
        "settings": {
            **facts["settings"],
            "logitsProcessors": rollout.processors,
            "stoppingCriteria": rollout.stops,
        },
        "declared": declared(trainer, rollout) | {"textChanges": _text_changes(text_changes, facts)},
        "prompts": {
            "messages": [row["prompt"] for row in data],
            **(around_answer(trainer) if conversational else {"assistantHeader": ""}),
            "rows": [{key: value for key, value in row.items() if key != "prompt"} for row in data],
        },
        "completions": {
            "finish": [
                "length" if len(ids) >= most_tokens(trainer) and ids[-1] not in end_ids else "stop"
                for ids in rollout.ids
            ]
            or None,
        },
        "rewards": None,
        "updates": [update.facts for update in rollout.updates],
        "stages": _stages(rollout.seconds),
        "probes": rollout.probes,
        "audit": rollout.audit and rollout.audit.record,
    }
    if rollout.rewards:
        record["rewards"] = {
            "names": list(trainer.reward_func_names),
            "weights": trainer.reward_weights.tolist(),
            "inputType": rollout.input_type,
            # A reward function that raises ends a run of TRL.
            "failures": [],
            "seconds": rollout.seconds["reward"],
        }
    arrays = {
        "prompts.ids": _flat([prompt_ids[row] for row in first if rollout.prompt_ids], np.int32),
        "prompts.lengths": _lengths([prompt_ids[row] for row in first if rollout.prompt_ids]),
        "prompts.scoredIds": _flat(scored_prompts, np.int32),
        "prompts.scoredLengths": _lengths(scored_prompts),
        "completions.prompt": np.array(prompt_of, np.int32),
        "completions.ids": _flat(rollout.ids, np.int32),
        "completions.lengths": _lengths(rollout.ids),
        "completions.source": _flat(rollout.sources, np.uint8),
        "completions.samplerLogprobs": _flat(rollout.plain, np.float32),
        "completions.sampledLogprobs": _flat(rollout.drawn, np.float32),
        "scored.ids": _flat([own.ids for own in scored], np.int32),
        "scored.lengths": _lengths([own.ids for own in scored]),
        "scored.mask": _flat([own.mask for own in scored], np.uint8),
        "scored.oldLogprobs": _flat([own.old for own in scored], np.float32),
        "scored.referenceLogprobs": _flat([own.reference for own in scored], np.float32),
        "rewards.values": np.concatenate(rollout.rewards).T.flatten() if rollout.rewards else None,
        "rewards.totals": np.concatenate(rollout.totals) if rollout.totals else None,
        "advantages": np.array(rollout.advantages) if _whole_groups(trainer, rollout) else None,
    }
    texts = {
        "prompts.texts": [decode(prompt_ids[row], clean_up_tokenization_spaces=False) for row in first],
        "prompts.answers": _answers(data, answers) if answers else None,
        "completions.texts": rollout.texts,
        "completions.sampledTexts": _sampled_texts(trainer, rollout),
    }
    for name, own in texts.items():
        arrays |= _texts(name, own)
    arrays |= pieces_of(tokenizer_of(trainer), [*prompt_ids, *scored_prompts, *rollout.ids, *(own.ids for own in scored)])
    for i, update in enumerate(rollout.updates):
        arrays[f"updates.{i}.completions"] = np.array(update.rows, np.int32)
        arrays[f"updates.{i}.policyLogprobs"] = _flat(update.logprobs, np.float32)
        arrays[f"updates.{i}.entropies"] = _flat(update.entropies, np.float32)
    empty = [name for name, array in arrays.items() if array is None or len(array) == 0 and not name.endswith(".bytes")]
    return record, {name: array for name, array in arrays.items() if name not in empty}


def _answers(data: list[dict], column: str) -> list:
    """Reference answers as texts, numbers too."""
    return [None if row[column] is None else str(row[column]) for row in data]


def _whole_groups(trainer, rollout: Rollout) -> bool:
    """Whether the rows of this process are all that its advantages came from."""
    if trainer.accelerator.num_processes == 1:
        return True
    alone = getattr(trainer, "multi_objective_aggregation", "sum_then_normalize") == "sum_then_normalize"
    return alone and trainer.scale_rewards != "batch" and len(rollout.data) % trainer.num_generations == 0


def _prompt_of(prompt_ids, size: int) -> list[int]:
    """The prompt of each row: TRL's blocks, or where prompts differ within a block the rows of equal ids."""
    if all(ids == prompt_ids[row - row % size] for row, ids in enumerate(prompt_ids)):
        return [row // size for row in range(len(prompt_ids))]
    seen = {}
    return [seen.setdefault(tuple(ids), len(seen)) for ids in prompt_ids]


def _stages(seconds) -> list[dict]:
    stages = {
        "sample": seconds["sample"],
        "reward": seconds["reward"],
        "score": seconds["rollout"] - seconds["sample"] - seconds["reward"],
        "update": seconds["micro-step"] - seconds["rollout"] - seconds["probe"] + seconds["optimizer"],
        "record": seconds["probe"] + seconds["record"] + seconds["audit"],
    }
    return [{"name": name, "seconds": max(0.0, value)} for name, value in stages.items()]


def _flat(rows, dtype):
    if not rows or rows[0] is None:
        return None
    return np.concatenate([np.array(row, dtype) for row in rows])


def _text_changes(declared: list | None, facts: dict) -> list | None:
    """As declared. TRL changes nothing; what an override changes may be meant."""
    own = {"_generate", "_generate_and_score_completions", "_calculate_rewards"} & (facts["settings"]["overridden"] or {}).keys()
    return [] if declared is None and not own else declared


def _sampled_texts(trainer, rollout: Rollout) -> list | None:
    """The sampled ids as TRL decodes them for rewards; nothing where it takes them apart: tools, and what a template names
    the reasoning."""
    tokenizer = tokenizer_of(trainer)
    parses = any(getattr(tokenizer, name, None) is not None for name in ("response_template", "response_schema"))
    if not rollout.texts or not rollout.ids or parses or any(map(any, rollout.sources)):
        return None
    return trainer.processing_class.batch_decode(rollout.ids, skip_special_tokens=True)


def _texts(name: str, texts: list | None) -> dict:
    """UTF-8 of all texts one after another, and the bytes of each; -1 where there is none."""
    if not texts:
        return {}
    # Half of a surrogate pair is no UTF-8.
    own = [None if text is None else text.encode("utf-8", "replace") for text in texts]
    joined = b"".join(text for text in own if text is not None)
    lengths = [-1 if text is None else len(text) for text in own]
    return {f"{name}.bytes": np.frombuffer(joined, np.uint8), f"{name}.lengths": np.array(lengths, np.int32)}


def _lengths(rows):
    return np.array([len(row) for row in rows], np.int32) if rows else None


def write(folder: Path, record: dict, arrays: dict) -> None:
    """The JSON comes last and at once: a record is whole where it is there."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "step.safetensors").write_bytes(save(arrays))
    unfinished = folder / "step.json.tmp"
    unfinished.write_text(json.dumps(_plain(record), ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(unfinished, folder / "step.json")


def _plain(value):
    """A value for JSON: None is left out, NaN and infinities become their names, other objects their kind."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (np.generic, torch.Tensor)) and np.ndim(value) == 0:
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, str):
        # Half of a surrogate pair is no UTF-8.
        return value.encode("utf-8", "replace").decode("utf-8")
    return value if isinstance(value, (int, float, type(None))) else f"<{type(value).__name__}>"
