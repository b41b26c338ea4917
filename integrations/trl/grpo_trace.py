"""Step records of a TRL GRPO run, for `npx grpo doctor`.

    from grpo_trace import record
    record(trainer, "out")          # before trainer.train()

Writes out/steps/NNNNNN/step.json and step.safetensors for the first two rollouts and for every tenth: what was sampled,
what was scored, rewards, advantages, log-probs, gradient norm, and how far the weights moved. A record holds what the
run computed; three things are this file's own: the weighted sums of rewards, which TRL does not hand out (its logged
mean must agree), the shares of changed weights, and the probes, which score a few rows again.

No number of the run changes: wrappers pass arguments and results on, and every random state is put back after a probe.
Nothing fails in silence: what a version of TRL does not offer is named by a warning, and an essential method that is
missing or never called is an error on the first step.

Letters of shapes: B rows of a micro-batch, C completion width, V vocabulary.
"""

from __future__ import annotations

import functools
import inspect
import json
import math
import os
import platform
import random
import time
import warnings
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
import transformers
import trl
from safetensors.numpy import save
from transformers import LogitsProcessor, TrainerCallback

# Key under which each row of TRL's batch carries its number through shuffling and splitting.
# Of the step record: see docs/step-record.md.
RECORD_VERSION = 2
ROW = "grpo_trace_row"

SCORE = "_get_per_token_logps_and_entropies"
# What is wrapped: the leading parameters that must be there, and what records lack without it (None: essential).
HOOKS = {
    "training_step": (("model", "inputs"), None),
    "compute_loss": (("model", "inputs"), None),
    "_generate_and_score_completions": (("inputs",), None),
    "_generate": (("prompts",), "ids as sampled"),
    "_generate_single_turn": (("prompt_ids",), "the sampler's log-probs"),
    "_calculate_rewards": (("inputs", "prompts", "completions"), "rewards and the texts that they saw"),
    SCORE: (
        ("model", "input_ids", "attention_mask", "logits_to_keep"),
        "the policy's log-probs, entropies and all probes",
    ),
}

# Elements of each weight that are compared before and after an update.
SAMPLED_ELEMENTS = 4096
# Rows that are scored again.
PROBED_ROWS = 2
# Columns of the data that hold a reference answer, by TRL's habit.
ANSWER_COLUMNS = ("answer", "solution")
DROPOUT_RATES = ("attention_dropout", "activation_dropout", "dropout")
# Settings of sampling: ours, transformers', and what leaves the distribution as it is.
SAMPLING = (
    ("topP", "top_p", 1),
    ("topK", "top_k", 0),
    ("minP", "min_p", 0),
    ("repetitionPenalty", "repetition_penalty", 1),
)


class RecorderError(RuntimeError):
    """The recorder cannot do what it promises with this trainer."""


def record(trainer, folder: str | os.PathLike, every: int = 10) -> None:
    """Has `trainer` leave step records in `folder`: of its first two rollouts and of every `every`-th.

    With several processes the first one records, its own rows.

    Raises RecorderError where the trainer lacks what is essential; warns of what it cannot record.
    """
    missing = [name for name, (parameters, _) in HOOKS.items() if not _offers(trainer, name, parameters)]
    essential = [_signature(name) for name in missing if HOOKS[name][1] is None]
    if essential:
        raise RecorderError(
            f"{type(trainer).__name__} of TRL {trl.__version__} has no {', '.join(essential)}: nothing can be recorded"
        )
    if hasattr(trainer, "_grpo_trace"):
        raise RecorderError("this trainer is recorded already: call record() once")
    trainer._grpo_trace = True
    if not trainer.accelerator.is_main_process:
        return
    recorder = _Recorder(trainer, Path(folder) / "steps", every)
    for name in HOOKS:
        if name in missing:
            recorder.lacks(f"{HOOKS[name][1]} (no {_signature(name)})")
        else:
            recorder.wrap(trainer, name, getattr(recorder, f"on_{name.lstrip('_')}"))
    recorder.wrap(trainer.accelerator, "clip_grad_norm_", recorder.on_clip_grad_norm)
    trainer.add_callback(_Callback(recorder))


def _offers(trainer, name: str, parameters: tuple[str, ...]) -> bool:
    method = getattr(trainer, name, None)
    return callable(method) and tuple(inspect.signature(method).parameters)[: len(parameters)] == parameters


def _signature(name: str) -> str:
    return f"{name}({', '.join(HOOKS[name][0])})"


class _Callback(TrainerCallback):
    def __init__(self, recorder: _Recorder):
        self.recorder = recorder

    def on_train_begin(self, args, state, control, **kwargs):
        folder = self.recorder.folder
        if state.global_step == 0 and folder.exists() and any(folder.iterdir()):
            raise RecorderError(f"{folder} holds records of an earlier run: name another folder")

    def on_pre_optimizer_step(self, args, state, control, **kwargs):
        self.recorder.before_update()

    def on_optimizer_step(self, args, state, control, **kwargs):
        self.recorder.after_update()

    def on_step_end(self, args, state, control, **kwargs):
        self.recorder.end_step()

    def on_train_end(self, args, state, control, **kwargs):
        if self.recorder.rollout is not None:
            warnings.warn("grpo_trace: training ended within a rollout, which is not recorded", stacklevel=2)


@dataclass
class _Scored:
    """One row as the loss was given it."""

    prompt: list
    ids: list
    mask: list
    old: list | None
    reference: list | None


@dataclass
class _Scoring:
    """What the trainer's scoring returned within the loss, [B, C], and what else it was called with."""

    model: torch.nn.Module
    logprobs: torch.Tensor
    entropies: torch.Tensor | None
    options: dict


@dataclass
class _Update:
    rows: list = field(default_factory=list)
    logprobs: list = field(default_factory=list)
    entropies: list = field(default_factory=list)
    losses: list = field(default_factory=list)
    facts: dict = field(default_factory=dict)


@dataclass
class _Rollout:
    """What is collected from a generation, or from several that share an update, to the last update: row by row."""

    step: int
    data: list = field(default_factory=list)
    prompt_ids: list = field(default_factory=list)
    ids: list = field(default_factory=list)
    sources: list = field(default_factory=list)
    plain: list = field(default_factory=list)
    drawn: list = field(default_factory=list)
    processors: list = field(default_factory=list)
    texts: list = field(default_factory=list)
    input_type: str | None = None
    rewards: list = field(default_factory=list)
    totals: list = field(default_factory=list)
    advantages: list = field(default_factory=list)
    scored: dict = field(default_factory=dict)
    update: _Update = field(default_factory=_Update)
    updates: list = field(default_factory=list)
    dropout: list | None = None
    probes: dict = field(default_factory=dict)
    seconds: defaultdict = field(default_factory=lambda: defaultdict(float))


class _Recorder:
    def __init__(self, trainer, folder: Path, every: int):
        self.trainer = trainer
        self.folder = folder
        self.every = every
        self.original = {}
        self.fired = set()
        self.rollout = None
        self.rollouts = 0
        self.rollout_micro_steps = 0
        self.update_micro_steps = 0
        self.turns = None
        self.scorings = None
        self.grad_norm = None
        self.weights = None
        # A forward pass of one process alone would leave the others waiting.
        self.probing = trainer.accelerator.num_processes == 1
        if not self.probing:
            self.lacks("probes, and rows of other processes")

    def lacks(self, what: str) -> None:
        warnings.warn(f"grpo_trace cannot record {what}; TRL {trl.__version__}", stacklevel=3)

    def wrap(self, owner, name: str, around) -> None:
        """Replaces a method by `around(original, …)`, which hears of every call."""
        self.original[name] = original = getattr(owner, name)

        @functools.wraps(original)
        def wrapped(*args, **kwargs):
            self.fired.add(name)
            return around(original, *args, **kwargs)

        setattr(owner, name, wrapped)

    @property
    def recording(self) -> _Rollout | None:
        """The rollout that is recorded; None in evaluation."""
        return self.rollout if self.trainer.model.training else None

    @contextmanager
    def timed(self, stage: str):
        start = time.perf_counter()
        try:
            yield
        finally:
            if self.rollout is not None:
                self.rollout.seconds[stage] += time.perf_counter() - start

    # ---- a micro-step ------------------------------------------------------------------------------------------------

    def on_training_step(self, original, *args, **kwargs):
        with self.timed("micro-step"):
            loss = original(*args, **kwargs)
        self.rollout_micro_steps += 1
        self.update_micro_steps += 1
        if self.rollout is not None:
            self.rollout.update.losses.append(loss.detach())
        return loss

    def on_generate_and_score_completions(self, original, inputs, *args, **kwargs):
        if not self.trainer.model.training:
            return original(inputs, *args, **kwargs)
        self.rollout_micro_steps = 0
        if self.rollout is None and self.update_micro_steps == 0:
            self.rollouts += 1
            if self.rollouts <= 2 or self.rollouts % self.every == 0:
                self.rollout = _Rollout(self.trainer.state.global_step + 1)
        with self.timed("rollout"):
            output = original(inputs, *args, **kwargs)
        rollout = self.rollout
        if rollout is not None:
            output[ROW] = torch.arange(len(rollout.data), len(rollout.data) + len(inputs))
            rollout.data += inputs
            # MiniLLM and others have one a token.
            rollout.advantages += output["advantages"].tolist() if output["advantages"].dim() == 1 else []
            self._check_totals()
        return output

    def _check_totals(self) -> None:
        """Our weighted sums must have the mean that TRL logged."""
        logged = getattr(self.trainer, "_metrics", {}).get("train", {}).get("reward")
        if not logged or not self.rollout.totals or self.trainer.accelerator.num_processes > 1:
            return
        mean = float(np.nanmean(self.rollout.totals[-1]))
        if abs(mean - logged[-1]) > 1e-4 * max(1, abs(mean)):
            raise RecorderError(
                f"the weighted sums of the rewards have mean {mean}, and TRL {trl.__version__} logs {logged[-1]}: "
                "this trainer sums them in another way, and records would be wrong"
            )

    # ---- sampling ----------------------------------------------------------------------------------------------------

    def on_generate(self, original, prompts, *args, **kwargs):
        rollout = self.recording
        if rollout is None:
            return original(prompts, *args, **kwargs)
        self.turns = []
        with self.timed("sample"):
            output = original(prompts, *args, **kwargs)
        turns, self.turns = self.turns, None
        prompt_ids, ids, tool_mask = output[:3]
        lists = [prompt_ids, ids] if tool_mask is None else [prompt_ids, ids, tool_mask]
        if not all(isinstance(rows, list) and len(rows) == len(prompts) for rows in lists):
            raise RecorderError(
                f"_generate of TRL {trl.__version__} does not return lists of prompt ids, completion ids and tool masks"
            )
        if tool_mask is None and len(turns) == 1:
            # As the ids left the sampler, before anything was done to them.
            prompt_ids, ids, logprobs, spy = turns[0]
            if spy.heard:
                plain, drawn = spy.rows(ids)
                rollout.plain += plain
                rollout.drawn += drawn
                rollout.processors = spy.processors
            elif logprobs is not None:
                drawn = [[math.nan if value is None else value for value in row] for row in logprobs]
                rollout.drawn += drawn
                neutral = all(_sampling(self.trainer).get(ours) == off for ours, _, off in SAMPLING)
                rollout.plain += drawn if neutral else []
        rollout.prompt_ids += [list(map(int, row)) for row in prompt_ids]
        rollout.ids += [list(map(int, row)) for row in ids]
        own = [[1] * len(row) for row in ids] if tool_mask is None else tool_mask
        rollout.sources += [[1 - value for value in row] for row in own]
        return output

    def on_generate_single_turn(self, original, prompt_ids, *args, **kwargs):
        if self.recording is None or self.turns is None:
            return original(prompt_ids, *args, **kwargs)
        model = self.trainer.accelerator.unwrap_model(self.trainer.model)
        spy = _SamplerSpy(_sampler_temperature(self.trainer))
        with spy.within(model.get_base_model() if hasattr(model, "get_base_model") else model):
            output = original(prompt_ids, *args, **kwargs)
        self.turns.append((prompt_ids, *output[:2], spy))
        return output

    # ---- rewards -----------------------------------------------------------------------------------------------------

    def on_calculate_rewards(self, original, inputs, prompts, completions, *args, **kwargs):
        rollout = self.recording
        if rollout is None:
            return original(inputs, prompts, completions, *args, **kwargs)
        rollout.texts += [_text_of(completion) for completion in completions]
        rollout.input_type = "text" if isinstance(completions[0], str) else "messages"
        with self.timed("reward"):
            values = original(inputs, prompts, completions, *args, **kwargs)
        # Of all processes; those of the first one, which records, come first.
        own = values[: len(prompts)].detach().double().cpu().numpy()
        weighted = own * self.trainer.reward_weights.double().cpu().numpy()
        rollout.rewards.append(own)
        rollout.totals.append(np.where(np.isnan(own).all(1), np.nan, np.nansum(weighted, 1)))
        return values

    # ---- scoring -----------------------------------------------------------------------------------------------------

    def on_get_per_token_logps_and_entropies(self, original, model, *args, **kwargs):
        output = original(model, *args, **kwargs)
        if self.scorings is not None:
            self.scorings.append(_Scoring(model, output[0].detach(), output[1], kwargs))
        return output

    def on_compute_loss(self, original, model, inputs, *args, **kwargs):
        if self.recording is None:
            return original(model, inputs, *args, **kwargs)
        if ROW not in inputs:
            raise RecorderError(f"TRL {trl.__version__} builds its micro-batches anew: their rows cannot be told apart")
        self.scorings = []
        try:
            loss = original(model, inputs, *args, **kwargs)
        finally:
            scorings, self.scorings = self.scorings, None
        if len(scorings) > 1:
            raise RecorderError(f"the loss scored a micro-batch {len(scorings)} times: which one counts is unknown")
        with self.timed("probe"):
            self._take(inputs, *scorings)
        return loss

    def _take(self, inputs, scoring: _Scoring | None = None) -> None:
        """Keeps what the loss was given, row by row; probes once a record."""
        rollout, rows = self.rollout, inputs[ROW].tolist()
        given = {key: value.cpu() for key, value in inputs.items() if isinstance(value, torch.Tensor)}
        mask = given["completion_mask"] * given.get("tool_mask", 1)
        lengths = []
        for j, row in enumerate(rows):
            reach = int(mask[j].nonzero().max()) + 1 if mask[j].any() else 0
            sampled = len(rollout.ids[row]) if rollout.ids else int(given["completion_mask"][j].sum())
            lengths.append(min(mask.shape[1], max(reach, sampled)))
            rollout.scored[row] = _Scored(
                given["prompt_ids"][j][given["prompt_mask"][j].bool()].tolist(),
                *(_row(values, j, lengths[j]) for values in (given["completion_ids"], mask)),
                *(_row(given.get(key), j, lengths[j]) for key in ("old_per_token_logps", "ref_per_token_logps")),
            )
        update = rollout.update
        update.rows += rows
        if scoring is None:
            return
        update.logprobs += [_row(scoring.logprobs, j, lengths[j]) for j in range(len(rows))]
        update.entropies += [_row(scoring.entropies, j, lengths[j]) for j in range(len(rows))]
        if rollout.dropout is None:
            rollout.dropout = _active_dropout(scoring.model)
            given = {key for key, value in scoring.options.items() if value is not None}
            more = sorted(given - {"batch_size", "compute_entropy", "compute_aux_loss"})
            if self.probing and more:
                self.probing = False
                self.lacks(f"probes of batches with {', '.join(more)}")
            elif self.probing:
                rollout.probes = self._probe(scoring, inputs, mask.bool(), rows, lengths)

    def _probe(self, scoring, inputs, mask, rows, lengths) -> dict:
        """Scores a few rows again by the trainer's own method, in the very mode and precision of its scoring."""
        prompts, attended = inputs["prompt_ids"], inputs["prompt_mask"]
        completions, attended_completions = inputs["completion_ids"], inputs["completion_mask"]
        ids = torch.cat([prompts, completions], 1)[:PROBED_ROWS]
        attention = torch.cat([attended, attended_completions], 1)[:PROBED_ROWS]

        def score(input_ids=ids, attention_mask=attention, keep=completions.shape[1]):
            return self.original[SCORE](scoring.model, input_ids, attention_mask, keep)[0].float().cpu()

        probes = {}
        with torch.no_grad(), _random_states_kept():
            few = mask[:PROBED_ROWS]
            if few.any():
                probes["repeatedScoring"] = _difference(score()[few], score()[few])
            # The row with most padding has most to lose.
            padding = (attended == 0).sum(1).cpu() - torch.tensor(lengths)
            j = int(torch.where(mask.any(1), padding, -(2**31)).argmax())
            if mask[j].any():
                length, inside = lengths[j], mask[j, : lengths[j]]
                own = torch.cat([prompts[j][attended[j].bool()], completions[j, :length]])[None]
                single = score(own, torch.ones_like(own), length)[0]
                probes["aloneInBatch"] = _difference(single[inside], scoring.logprobs[j, :length].float().cpu()[inside])
            declared = self.trainer.temperature
            temperatures = sorted({1.0, float(declared), float(_sampler_temperature(self.trainer))})
            if len(temperatures) > 1 and self.rollout.plain:
                sampler = torch.full(few.shape, math.nan)
                for j, row in enumerate(rows[:PROBED_ROWS]):
                    sampler[j, : len(self.rollout.plain[row])] = torch.tensor(self.rollout.plain[row])
                few = few & ~sampler.isnan()
                try:
                    probes["temperatures"] = []
                    for self.trainer.temperature in temperatures:
                        gap = _difference(score()[few], sampler[few])
                        probes["temperatures"].append({"temperature": self.trainer.temperature, **gap})
                finally:
                    self.trainer.temperature = declared
        return probes

    # ---- the update --------------------------------------------------------------------------------------------------

    def on_clip_grad_norm(self, original, *args, **kwargs):
        # Of the gradient before clipping.
        self.grad_norm = original(*args, **kwargs)
        return self.grad_norm

    def before_update(self) -> None:
        if self.rollout is None:
            return
        with self.timed("record"):
            facts = self.rollout.update.facts
            facts["learningRate"] = float(self.trainer.optimizer.param_groups[0]["lr"])
            if self.grad_norm is not None:
                facts["gradNorm"] = float(self.grad_norm)
            gradients = [p.grad for p in self.trainer.model.parameters() if p.requires_grad]
            # A fresh adapter's first matrices have no gradient until its second ones have moved away from 0.
            fresh_adapter = hasattr(self.trainer.model, "peft_config") and self.rollout.step == 1
            if any(gradient is not None for gradient in gradients) and not fresh_adapter:
                facts["zeroGradients"] = sum(g is None or not g.any() for g in gradients) / len(gradients)
            self.weights = self._sampled_weights()
        self.rollout.seconds["optimizer"] -= time.perf_counter()

    def after_update(self) -> None:
        if self.rollout is None:
            return
        self.rollout.seconds["optimizer"] += time.perf_counter()
        with self.timed("record"):
            update, self.rollout.update = self.rollout.update, _Update()
            if not getattr(self.trainer.accelerator, "optimizer_step_was_skipped", False):
                update.facts |= self._changed_shares()
            configured = getattr(self.trainer, "current_gradient_accumulation_steps", None)
            update.facts["microBatches"] = {
                "executed": len(update.losses),
                "configured": int(configured or self.trainer.args.gradient_accumulation_steps),
            }
            update.facts["loss"] = float(torch.stack(update.losses).sum())
            self.rollout.updates.append(update)

    def _sampled_weights(self) -> list[tuple[int, torch.Tensor]]:
        """Of each trained weight its size and a strided sample, of an odd stride so as not to stay in one column."""
        weights = [p.detach() for p in self.trainer.model.parameters() if p.requires_grad and p.numel() > 0]
        return [(w.numel(), w.reshape(-1)[:: (w.numel() // SAMPLED_ELEMENTS) | 1].clone()) for w in weights]

    def _changed_shares(self) -> dict:
        """Estimated over the samples, each weight by its size."""
        sizes = [size for size, _ in self.weights]
        if not sizes:
            return {}
        pairs = zip(self.weights, self._sampled_weights(), strict=True)
        share = sum(size * float((old != new).float().mean()) for (size, old), (_, new) in pairs) / sum(sizes)
        masters = _precision(self.trainer).get("masterWeights")
        if masters is None:
            return {"changedWeightShare": share}
        return {"changedShare": share} if masters else {"changedShare": share, "changedWeightShare": share}

    def end_step(self) -> None:
        if self.trainer.state.global_step <= 1 or self.rollouts == 0:
            self._check_fired()
        self.update_micro_steps = 0
        if self.rollout is not None and self.rollout_micro_steps >= _micro_steps(self.trainer):
            rollout, self.rollout = self.rollout, None
            _write(self.folder / f"{rollout.step:06d}", *_record(self.trainer, rollout, self.facts))

    def _check_fired(self) -> None:
        silent = [name for name in HOOKS if name in self.original and name not in self.fired]
        essential = [name for name in silent if HOOKS[name][1] is None]
        if essential:
            raise RecorderError(
                f"after one step {type(self.trainer).__name__} of TRL {trl.__version__} has never called "
                f"{', '.join(essential)}: nothing is recorded"
            )
        for name in silent:
            self.lacks(f"{HOOKS[name][1]} ({name} is never called)")

    @functools.cached_property
    def facts(self) -> dict:
        """What is the same in every record."""
        return {
            "producer": {"name": "trl", "version": trl.__version__},
            "versions": {
                "trl": trl.__version__,
                "transformers": transformers.__version__,
                "torch": torch.__version__,
                "python": platform.python_version(),
            },
            "seed": self.trainer.args.seed,
            "settings": _settings(self.trainer.args),
            "tokenizer": _tokenizer_facts(self.trainer),
        }


class _SamplerSpy:
    """Log-probs of sampled tokens, heard within transformers' generate: before its processors and after them.

    A step's scores, [B, V], are kept until the next one shows which tokens were drawn.
    """

    def __init__(self, temperature: float):
        self.temperature = temperature
        self.processors = []
        self.scores = []
        self.tokens, self.plain, self.drawn = [], [], []

    @property
    def heard(self) -> bool:
        return len(self.scores) > 0

    @contextmanager
    def within(self, model):
        """Puts a listener before the first processor and one after the last while generate is called."""
        build = getattr(model, "_get_logits_processor", None)
        if build is None:
            yield
            return

        @functools.wraps(build)
        def with_listeners(*args, **kwargs):
            processors = build(*args, **kwargs)
            self.processors = [type(processor).__name__ for processor in processors]
            processors.insert(0, _Listener(self.before))
            processors.append(_Listener(self.after))
            return processors

        model._get_logits_processor = with_listeners
        try:
            yield
        finally:
            del model._get_logits_processor

    def before(self, input_ids, scores) -> None:
        if self.scores:
            self._take(input_ids[:, -1])
        self.scores = [scores.float() / self.temperature]

    def after(self, _, scores) -> None:
        self.scores.append(scores.float())

    def _take(self, tokens) -> None:
        plain, drawn = ((s.gather(1, tokens[:, None])[:, 0] - s.logsumexp(1)).cpu() for s in self.scores)
        self.tokens.append(tokens.cpu())
        self.plain.append(plain)
        self.drawn.append(drawn)

    def rows(self, ids) -> tuple[list, list]:
        """Both log-probs of each completion; the last step's tokens are known only now."""
        longest = len(self.tokens) + 1
        last = [row[-1] if len(row) == longest else 0 for row in ids]
        self._take(torch.tensor(last, device=self.scores[0].device))
        tokens, plain, drawn = (torch.stack(steps, 1).tolist() for steps in (self.tokens, self.plain, self.drawn))
        for b, row in enumerate(ids):
            if tokens[b][: len(row)] != list(row):
                raise RecorderError(f"completion {b} is not what generate sampled: its ids were changed on the way")
        cut = [slice(len(row)) for row in ids]
        return [row[part] for row, part in zip(plain, cut)], [row[part] for row, part in zip(drawn, cut)]


class _Listener(LogitsProcessor):
    def __init__(self, hear):
        self.hear = hear

    def __call__(self, input_ids, scores):
        self.hear(input_ids, scores)
        return scores


# ---- the record ------------------------------------------------------------------------------------------------------


def _record(trainer, rollout: _Rollout, facts: dict) -> tuple[dict, dict]:
    """The record as JSON, and its arrays by their paths in it."""
    if sorted(rollout.scored) != list(range(len(rollout.data))):
        raise RecorderError(f"of {len(rollout.data)} sampled rows {len(rollout.scored)} were scored")
    scored = [rollout.scored[row] for row in range(len(rollout.data))]
    prompt_ids = rollout.prompt_ids or [own.prompt for own in scored]
    prompt_of = _prompt_of(prompt_ids, trainer.num_generations)
    first = [prompt_of.index(p) for p in range(max(prompt_of) + 1)]
    # Of each prompt a row that was scored after another one than was sampled from, if any.
    others = {p: own.prompt for p, ids, own in zip(prompt_of, prompt_ids, scored) if own.prompt != ids}
    scored_prompts = [others.get(p, scored[row].prompt) for p, row in enumerate(first)]
    data = [rollout.data[row] for row in first]
    conversational = isinstance(data[0]["prompt"], list)
    answers = next((name for name in ANSWER_COLUMNS if isinstance(data[0].get(name), str)), None)
    end_ids = facts["tokenizer"]["endIds"]
    record = {
        "format": "grpo-step",
        "version": RECORD_VERSION,
        "step": rollout.step,
        **facts,
        "settings": {**facts["settings"], "logitsProcessors": rollout.processors},
        "declared": _declared(trainer, rollout),
        "prompts": {
            "messages": [row["prompt"] for row in data],
            "texts": [_tokenizer(trainer).decode(prompt_ids[row], clean_up_tokenization_spaces=False) for row in first],
            "assistantHeader": _template_parts(trainer)[1] if conversational else "",
            "rows": [{key: value for key, value in row.items() if key != "prompt"} for row in data],
            "answers": [row[answers] for row in data] if answers else None,
        },
        "completions": {
            "texts": rollout.texts or None,
            "finish": [
                "length" if len(ids) >= trainer.max_completion_length and ids[-1] not in end_ids else "stop"
                for ids in rollout.ids
            ]
            or None,
        },
        "rewards": None,
        "updates": [update.facts for update in rollout.updates],
        "stages": _stages(rollout.seconds),
        "probes": rollout.probes,
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
    for i, update in enumerate(rollout.updates):
        arrays[f"updates.{i}.completions"] = np.array(update.rows, np.int32)
        arrays[f"updates.{i}.policyLogprobs"] = _flat(update.logprobs, np.float32)
        arrays[f"updates.{i}.entropies"] = _flat(update.entropies, np.float32)
    return record, {name: array for name, array in arrays.items() if array is not None and len(array) > 0}


def _whole_groups(trainer, rollout: _Rollout) -> bool:
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
        "record": seconds["probe"] + seconds["record"],
    }
    return [{"name": name, "seconds": max(0.0, value)} for name, value in stages.items()]


# ---- what the run declares -------------------------------------------------------------------------------------------


def _declared(trainer, rollout: _Rollout) -> dict:
    args = trainer.args
    scale = getattr(trainer, "scale_rewards", None)
    if getattr(trainer, "multi_objective_aggregation", "sum_then_normalize") != "sum_then_normalize":
        # Each reward is scaled by itself.
        scale = None
    return {
        "rollout": {
            "group": trainer.num_generations,
            "maxNewTokens": trainer.max_completion_length,
            "minNewTokens": getattr(getattr(trainer, "generation_config", None), "min_new_tokens", None),
            "temperature": trainer.temperature,
            **_sampling(trainer),
        },
        "objective": {
            "loss": getattr(trainer, "loss_type", None),
            "ratio": getattr(trainer, "importance_sampling_level", "token"),
            "clipLow": trainer.epsilon_low,
            "clipHigh": trainer.epsilon_high,
            "delta": getattr(args, "delta", None),
            "offPolicyThreshold": getattr(trainer, "off_policy_mask_threshold", None),
            "oldLogprobs": "detach" if rollout.scored[0].old is None else "recompute",
            "maskTruncated": getattr(trainer, "mask_truncated_completions", None),
        },
        "advantage": {
            "scale": {True: "group", False: "none"}.get(scale, scale),
            "epsilon": 1e-4,
            "ddof": 1,
        },
        "kl": {
            "beta": trainer.beta,
            "estimator": "k3" if trainer.beta else None,
            "biasCorrected": getattr(args, "use_bias_correction_kl", None) if trainer.beta else None,
        },
        "entropy": {
            "coefficient": getattr(trainer, "entropy_coef", None),
            "topShare": getattr(trainer, "top_entropy_quantile", None),
        },
        "optimizer": {
            "learningRate": args.learning_rate,
            "maxGradNorm": args.max_grad_norm,
            "weightDecay": args.weight_decay,
        },
        "updatesPerRollout": _micro_steps(trainer) / args.gradient_accumulation_steps,
        **_precision(trainer),
        "activeDropout": rollout.dropout,
        "rewardWeights": trainer.reward_weights.tolist(),
    }


def _micro_steps(trainer) -> int:
    """Micro-steps that one generation serves."""
    args = trainer.args
    served = getattr(args, "steps_per_generation", None) or args.gradient_accumulation_steps
    return served * getattr(args, "num_iterations", 1)


def _sampling(trainer) -> dict:
    """Sampling as the sampler is told; nothing where `generation_kwargs` says what these terms cannot."""
    known = {"temperature", "max_new_tokens", "min_new_tokens", "do_sample", *(name for _, name, _ in SAMPLING)}
    if set(getattr(trainer.args, "generation_kwargs", None) or {}) - known:
        return {}
    told = getattr(trainer, "generation_config", None) or trainer
    values = {ours: (getattr(told, theirs, None), off) for ours, theirs, off in SAMPLING}
    return {name: off if value is None else value for name, (value, off) in values.items()}


def _sampler_temperature(trainer) -> float:
    """Of the sampler; scoring uses `trainer.temperature`."""
    temperature = getattr(getattr(trainer, "generation_config", None), "temperature", None)
    return trainer.temperature if temperature is None else temperature


def _precision(trainer) -> dict:
    trained = {p.dtype for p in trainer.model.parameters() if p.requires_grad}
    autocast = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(trainer.accelerator.mixed_precision)
    forward = autocast or trainer.accelerator.unwrap_model(trainer.model).dtype
    precision = {"dtype": str(forward).removeprefix("torch.")}
    # DeepSpeed keeps masters of its own, out of sight.
    if not getattr(trainer, "is_deepspeed_enabled", False):
        precision["masterWeights"] = trained == {torch.float32} and forward != torch.float32
    return precision


def _settings(args) -> dict:
    """The fields that TRL adds to transformers' arguments, which name no machine and no secret."""
    common = inspect.signature(transformers.TrainingArguments).parameters
    own = [name for name in inspect.signature(type(args)).parameters if name not in common]
    private = ("vllm_server", "model_init", "log_completions_hub")
    return {name: getattr(args, name) for name in own if not name.startswith(private)}


def _tokenizer(trainer):
    """Of a processor its tokenizer."""
    return getattr(trainer.processing_class, "tokenizer", trainer.processing_class)


def _tokenizer_facts(trainer) -> dict:
    tokenizer, model = _tokenizer(trainer), trainer.accelerator.unwrap_model(trainer.model)
    told = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    ends = {tokenizer.eos_token_id, *(told if isinstance(told, (list, tuple)) else [told])}
    special = {id: str(token) for id, token in tokenizer.added_tokens_decoder.items() if token.special}
    bos = tokenizer.bos_token_id
    begins = tokenizer("a")["input_ids"][:1] == [bos]
    if trainer.processing_class.chat_template or getattr(trainer, "chat_template", None):
        opening, _, closing = _template_parts(trainer)
        begins = begins or (tokenizer.bos_token is not None and opening.startswith(tokenizer.bos_token))
        ends |= {id for id in tokenizer(closing, add_special_tokens=False)["input_ids"][:1] if id in special}
    return {
        "vocabularySize": getattr(model.config.get_text_config(), "vocab_size", None),
        "bosId": bos,
        "expectedBos": None if bos is None else int(begins),
        "padId": tokenizer.pad_token_id,
        "endIds": sorted(ends - {None}),
        "specialTokens": special,
    }


def _template_parts(trainer) -> tuple[str, str, str]:
    """A rendered question, what stands between it and an answer, and what follows the answer."""

    def render(messages, prompted):
        return trainer.processing_class.apply_chat_template(
            messages,
            tools=getattr(trainer, "tools", None) or None,
            chat_template=getattr(trainer, "chat_template", None),
            add_generation_prompt=prompted,
            tokenize=False,
            **(getattr(trainer, "chat_template_kwargs", None) or {}),
        )

    text = "grpo-trace-answer"
    question = [{"role": "user", "content": "question"}]
    closed, opened = render(question, False), render(question, True)
    answered = render([*question, {"role": "assistant", "content": text}], False)
    before, found, after = answered.partition(text)
    if not found:
        raise RecorderError("the chat template drops an assistant's answer: its header cannot be told")
    header = before[len(os.path.commonprefix([closed, before])) :]
    prompt = opened[len(closed) :] if opened.startswith(closed) else ""
    # The generation prompt may go on beyond the header, as with an opened <think>.
    longer = prompt and (prompt.startswith(header) or header.startswith(prompt))
    return closed, prompt if longer else header, after


def _active_dropout(model) -> list[str]:
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


# ---- small things ----------------------------------------------------------------------------------------------------


def _text_of(completion) -> str:
    """A completion as text: itself, or what its messages of the assistant say."""
    if isinstance(completion, str):
        return completion
    contents = [message.get("content") or "" for message in completion if message.get("role") == "assistant"]
    texts = [c if isinstance(c, str) else "".join(part.get("text", "") for part in c) for c in contents]
    return "\n".join(texts)


def _difference(a: torch.Tensor, b: torch.Tensor) -> dict:
    gap = (a.double() - b.double()).abs()
    return {"mean": float(gap.mean()), "max": float(gap.max()), "tokens": gap.numel()}


def _row(values, j: int, length: int) -> list | None:
    return None if values is None else values[j, :length].tolist()


def _flat(rows, dtype):
    if not rows or rows[0] is None:
        return None
    return np.concatenate([np.array(row, dtype) for row in rows])


def _lengths(rows):
    return np.array([len(row) for row in rows], np.int32) if rows else None


@contextmanager
def _random_states_kept():
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


def _write(folder: Path, record: dict, arrays: dict) -> None:
    """The JSON comes last and at once: a record is whole where it is there."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "step.safetensors").write_bytes(save(arrays))
    unfinished = folder / "step.json.tmp"
    unfinished.write_text(json.dumps(_plain(record), ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(unfinished, folder / "step.json")


def _plain(value):
    """As JSON has it: without what is None, numbers that it lacks by name, other things by their kind."""
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
