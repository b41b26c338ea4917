"""Step records of a TRL GRPO run, for `npx grpo doctor`.

    from grpo_trace import record
    record(trainer, "out")          # before trainer.train()

Writes out/steps/NNNNNN/step.json and step.safetensors for the first two rollouts and for every tenth: what was sampled,
what was scored, rewards, advantages, log-probs, gradient norm, and how far the weights moved. A record holds what the
run computed; three values are this file's own: the weighted sums of rewards, which TRL does not hand out (its logged
mean must agree), the shares of changed weights, and the probes, which score a few rows again.

No number of the run changes: wrappers pass arguments and results on, and every random state is put back after a probe.
Nothing fails in silence: what a version of TRL does not offer is named by a warning, and an essential method that is
missing or never called is an error on the first step.

Letters of shapes: B rows of a micro-batch, P prompt width, C completion width, V vocabulary.
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
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
import transformers
import trl
from safetensors.numpy import save
from transformers import LogitsProcessor, TrainerCallback

# Key under which each row of TRL's batch carries its number through shuffling and splitting.
ROW = "grpo_trace_row"

# What is wrapped: the leading parameters that must be there, and what records lack without it (None: essential).
HOOKS = {
    "training_step": (("model", "inputs"), None),
    "compute_loss": (("model", "inputs"), None),
    "_generate_and_score_completions": (("inputs",), None),
    "_generate": (("prompts",), "ids as sampled"),
    "_generate_single_turn": (("prompt_ids",), "the sampler's log-probs"),
    "_calculate_rewards": (
        ("inputs", "prompts", "completions", "completion_ids_list"),
        "rewards and the texts that they saw",
    ),
    "_get_per_token_logps_and_entropies": (
        ("model", "input_ids", "attention_mask", "logits_to_keep"),
        "the policy's log-probs, entropies and all probes",
    ),
}

ANSWER = "grpo-trace-answer"
# Columns of the data that hold a reference answer, by TRL's habit.
ANSWER_COLUMNS = ("answer", "solution")
DROPOUT_RATES = ("attention_dropout", "activation_dropout", "dropout")
# Elements of each weight that are compared before and after an update.
SAMPLED_ELEMENTS = 4096


class RecorderError(RuntimeError):
    """The recorder cannot do what it promises with this trainer."""


def record(trainer, folder: str | os.PathLike, every: int = 10) -> None:
    """Has `trainer` leave step records in `folder`: of its first two rollouts and of every `every`-th.

    With several processes only the first one records, its own rows.

    Raises RecorderError where the trainer lacks what is essential; warns of what it cannot record.
    """
    missing = {name: why for name, why in HOOKS.items() if not _offers(trainer, name, why[0])}
    essential = [f"{name}({', '.join(HOOKS[name][0])})" for name in missing if HOOKS[name][1] is None]
    if essential:
        raise RecorderError(
            f"{type(trainer).__name__} of TRL {trl.__version__} has no {', '.join(essential)}: nothing can be recorded"
        )
    if hasattr(trainer, "_grpo_trace"):
        raise RecorderError("this trainer is recorded already: call record() once")
    trainer._grpo_trace = True
    if not trainer.accelerator.is_main_process:
        return
    recorder = _Recorder(trainer, Path(folder), every)
    for name in missing:
        recorder.lacks(f"{HOOKS[name][1]} (no {name}({', '.join(HOOKS[name][0])}))")
    for name in HOOKS.keys() - missing.keys():
        recorder.wrap(trainer, name, getattr(recorder, "on" + name if name[0] == "_" else "on_" + name))
    recorder.wrap(trainer.accelerator, "clip_grad_norm_", recorder.on_clip_grad_norm)
    trainer.add_callback(_Callback(recorder))


def _offers(trainer, name: str, parameters: tuple[str, ...]) -> bool:
    method = getattr(trainer, name, None)
    return callable(method) and tuple(inspect.signature(method).parameters)[: len(parameters)] == parameters


class _Callback(TrainerCallback):
    def __init__(self, recorder: _Recorder):
        self.recorder = recorder

    def on_train_begin(self, args, state, control, **kwargs):
        steps = self.recorder.folder
        if state.global_step == 0 and steps.exists() and any(steps.iterdir()):
            raise RecorderError(f"{steps} holds records of an earlier run: name another folder")

    def on_pre_optimizer_step(self, args, state, control, **kwargs):
        self.recorder.before_update()

    def on_optimizer_step(self, args, state, control, **kwargs):
        self.recorder.after_update()

    def on_step_end(self, args, state, control, **kwargs):
        self.recorder.end_step()

    def on_train_end(self, args, state, control, **kwargs):
        if self.recorder.rollout is not None:
            warnings.warn("grpo_trace: training ended within a rollout, which is not recorded", stacklevel=2)


def _rollout(step: int) -> SimpleNamespace:
    """What is collected from one generation, or several that share an update, to its last update."""
    return SimpleNamespace(
        step=step,
        data=[],
        prompt_ids=[],
        ids=[],
        sources=[],
        plain=[],
        drawn=[],
        texts=[],
        input_type=None,
        rewards=[],
        totals=[],
        advantages=[],
        scored={},
        updates=[],
        update=None,
        seconds=defaultdict(float),
        processors=[],
        dropout=None,
        probes={},
    )


def _update() -> SimpleNamespace:
    return SimpleNamespace(rows=[], logprobs=[], entropies=[], losses=[], facts={})


class _Recorder:
    def __init__(self, trainer, folder: Path, every: int):
        self.trainer = trainer
        self.folder = folder / "steps"
        self.every = every
        self.original = {}
        self.missing = []
        self.fired = set()
        self.rollout = None
        self.rollouts = 0
        self.alone = trainer.accelerator.num_processes == 1
        self.micro_steps = SimpleNamespace(of_rollout=0, of_update=0)
        self.turns = None
        self.scoring = None
        self.grad_norm = None
        self.before = None
        if not self.alone:
            self.lacks("probes, and rows of other processes")
        if getattr(trainer, "use_liger_kernel", False):
            self.lacks("the policy's log-probs, entropies and all probes (Liger's fused loss has none)")

    def lacks(self, what: str) -> None:
        self.missing.append(what)
        warnings.warn(f"grpo_trace cannot record {what}; TRL {trl.__version__}", stacklevel=3)

    def wrap(self, owner, name: str, around) -> None:
        """Replaces a method by `around(original, …)`, which hears of every call."""
        original = getattr(owner, name)
        self.original[name] = original

        @functools.wraps(original)
        def wrapped(*args, **kwargs):
            self.fired.add(name)
            return around(original, *args, **kwargs)

        setattr(owner, name, wrapped)

    @property
    def recording(self) -> SimpleNamespace | None:
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

    # ---- a micro-step -------------------------------------------------------------------------------------------------

    def on_training_step(self, original, *args, **kwargs):
        with self.timed("micro-step"):
            loss = original(*args, **kwargs)
        self.micro_steps.of_rollout += 1
        self.micro_steps.of_update += 1
        if self.rollout is not None:
            self.rollout.update.losses.append(loss.detach())
        return loss

    def on_generate_and_score_completions(self, original, inputs, *args, **kwargs):
        if not self.trainer.model.training:
            return original(inputs, *args, **kwargs)
        self.micro_steps.of_rollout = 0
        if self.rollout is None and self.micro_steps.of_update == 0:
            self.rollouts += 1
            if self.rollouts <= 2 or self.rollouts % self.every == 0:
                self.rollout = _rollout(self.trainer.state.global_step + 1)
                self.rollout.update = _update()
        rollout = self.rollout
        if rollout is None:
            return original(inputs, *args, **kwargs)
        with self.timed("rollout"):
            output = original(inputs, *args, **kwargs)
        start = len(rollout.data)
        rollout.data += inputs
        if output["advantages"].dim() == 1:
            rollout.advantages += output["advantages"].tolist()
        self._check_totals()
        output[ROW] = torch.arange(start, len(rollout.data))
        return output

    def _check_totals(self) -> None:
        """Our weighted sums must have the mean that TRL logged."""
        logged = getattr(self.trainer, "_metrics", {}).get("train", {}).get("reward")
        if not logged or not self.rollout.totals or not self.alone:
            return
        mean = float(np.nanmean(self.rollout.totals[-1]))
        if abs(mean - logged[-1]) > 1e-4 * max(1, abs(mean)):
            raise RecorderError(
                f"the weighted sums of the rewards have mean {mean}, and TRL {trl.__version__} logs {logged[-1]}: "
                "this trainer sums them in another way, and records would be wrong"
            )

    # ---- sampling -----------------------------------------------------------------------------------------------------

    def on_generate(self, original, prompts, *args, **kwargs):
        rollout = self.recording
        if rollout is None:
            return original(prompts, *args, **kwargs)
        self.turns = []
        with self.timed("sample"):
            output = original(prompts, *args, **kwargs)
        turns, self.turns = self.turns, None
        prompt_ids, ids, tool_mask = self._checked(output, len(prompts))
        logprobs = plain = drawn = None
        if len(turns) == 1 and not getattr(self.trainer, "tools", None):
            # Of a single turn: as it left the sampler, before anything was done to it.
            prompt_ids, ids, logprobs, spy = turns[0]
            if spy.processors is not None:
                plain, drawn = spy.rows(ids)
                rollout.processors = spy.processors
        if drawn is None and logprobs is not None:
            drawn = [[math.nan if value is None else value for value in row] for row in logprobs]
            plain = drawn if self._undistorted() else None
        rollout.prompt_ids += [list(map(int, row)) for row in prompt_ids]
        rollout.ids += [list(map(int, row)) for row in ids]
        rollout.sources += [[0] * len(row) for row in ids] if tool_mask is None else [[1 - m for m in row] for row in tool_mask]
        rollout.plain += plain or []
        rollout.drawn += drawn or []
        return output

    def _checked(self, output, count: int):
        """Ids of prompts and completions, and the mask of tool tokens; no other layout is guessed at."""
        prompt_ids, ids, tool_mask = output[:3]
        lists = [prompt_ids, ids] if tool_mask is None else [prompt_ids, ids, tool_mask]
        if not all(isinstance(rows, list) and len(rows) == count for rows in lists):
            raise RecorderError(
                f"_generate of TRL {trl.__version__} does not return lists of prompt ids, completion ids and tool masks"
            )
        return prompt_ids, ids, tool_mask

    def on_generate_single_turn(self, original, prompt_ids, *args, **kwargs):
        if self.recording is None or self.turns is None:
            return original(prompt_ids, *args, **kwargs)
        spy = _SamplerSpy(self._sampler_temperature())
        with spy.watching(self._generating_model()):
            output = original(prompt_ids, *args, **kwargs)
        ids, logprobs = output[:2]
        self.turns.append((prompt_ids, ids, logprobs, spy))
        return output

    def _generating_model(self):
        model = self.trainer.accelerator.unwrap_model(self.trainer.model)
        return model.get_base_model() if hasattr(model, "get_base_model") else model

    def _sampler_temperature(self) -> float:
        temperature = getattr(getattr(self.trainer, "generation_config", None), "temperature", None)
        return self.trainer.temperature if temperature is None else temperature

    def _undistorted(self) -> bool:
        """Whether the sampler draws from softmax(logits / temperature) itself."""
        given = _sampling(self.trainer)
        return (
            given.get("topP", 1) == 1
            and given.get("topK", 0) <= 0
            and given.get("minP", 0) == 0
            and given.get("repetitionPenalty", 1) == 1
            and not getattr(self.trainer.args, "generation_kwargs", None)
        )

    # ---- rewards ------------------------------------------------------------------------------------------------------

    def on_calculate_rewards(self, original, inputs, prompts, completions, *args, **kwargs):
        rollout = self.recording
        if rollout is None:
            return original(inputs, prompts, completions, *args, **kwargs)
        texts = [_text_of(completion) for completion in completions]
        rollout.input_type = "text" if isinstance(completions[0], str) else "messages"
        with self.timed("reward"):
            values = original(inputs, prompts, completions, *args, **kwargs)
        # Of all processes; those of the first one, which records, come first.
        own = values[: len(prompts)].detach().double().cpu().numpy()
        weighted = own * self.trainer.reward_weights.double().cpu().numpy()
        rollout.texts += texts
        rollout.rewards.append(own)
        rollout.totals.append(np.where(np.isnan(own).all(1), np.nan, np.nansum(weighted, 1)))
        return values

    # ---- scoring ------------------------------------------------------------------------------------------------------

    def on_get_per_token_logps_and_entropies(
        self, original, model, input_ids, attention_mask, logits_to_keep, *args, **kwargs
    ):
        output = original(model, input_ids, attention_mask, logits_to_keep, *args, **kwargs)
        if self.scoring is not None:
            self.scoring.append(SimpleNamespace(model=model, logprobs=output[0], entropies=output[1], extra=kwargs))
        return output

    def on_compute_loss(self, original, model, inputs, *args, **kwargs):
        if self.recording is None:
            return original(model, inputs, *args, **kwargs)
        if ROW not in inputs:
            raise RecorderError(
                f"TRL {trl.__version__} builds its micro-batches anew: their rows cannot be told apart any more"
            )
        self.scoring = []
        try:
            loss = original(model, inputs, *args, **kwargs)
        finally:
            scorings, self.scoring = self.scoring, None
        with self.timed("probe"):
            if len(scorings) > 1:
                raise RecorderError(f"the loss scored a micro-batch {len(scorings)} times: which one counts is unknown")
            self._take(inputs, scorings[0] if scorings else None)
        return loss

    def _take(self, inputs, scoring) -> None:
        """Keeps what the loss was given, row by row; probes once a record."""
        rollout, rows = self.rollout, inputs[ROW].tolist()
        mask = inputs["completion_mask"] * inputs.get("tool_mask", 1)
        attended = inputs["prompt_mask"].bool()
        lengths = []
        for j, row in enumerate(rows):
            reach = int(mask[j].nonzero().max()) + 1 if mask[j].any() else 0
            sampled = len(rollout.ids[row]) if rollout.ids else int(inputs["completion_mask"][j].sum())
            lengths.append(min(mask.shape[1], max(reach, sampled)))
            rollout.scored[row] = SimpleNamespace(
                prompt=inputs["prompt_ids"][j][attended[j]].tolist(),
                ids=inputs["completion_ids"][j, : lengths[j]].tolist(),
                mask=mask[j, : lengths[j]].tolist(),
                old=_row(inputs.get("old_per_token_logps"), j, lengths[j]),
                reference=_row(inputs.get("ref_per_token_logps"), j, lengths[j]),
            )
        update = rollout.update
        update.rows += rows
        if scoring is None:
            return
        update.logprobs += [_row(scoring.logprobs, j, lengths[j]) for j in range(len(rows))]
        update.entropies += [_row(scoring.entropies, j, lengths[j]) for j in range(len(rows))]
        if rollout.dropout is None:
            rollout.dropout = _active_dropout(scoring.model)
        if not rollout.probes and self.alone and "_get_per_token_logps_and_entropies" in self.original:
            images = [key for key, value in scoring.extra.items() if value is not None and not key.startswith("compute_")]
            if images:
                self.lacks(f"probes of batches with {', '.join(images)}")
                self.alone = False
            else:
                rollout.probes = self._probe(scoring, inputs, rows, mask, lengths)

    # ---- probes -------------------------------------------------------------------------------------------------------

    def _probe(self, scoring, inputs, rows, mask, lengths) -> dict:
        """Scores a few rows again by the trainer's own method, in the very mode and precision of its scoring."""

        def score(input_ids, attention_mask, keep):
            method = self.original["_get_per_token_logps_and_entropies"]
            return method(scoring.model, input_ids, attention_mask, keep)[0].float()

        ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1)[:2]
        attention = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1)[:2]
        keep = mask.shape[1]
        trained = mask[:2].bool()
        probes = {}
        with torch.no_grad(), _random_states_kept():
            if trained.any():
                once, twice = score(ids, attention, keep), score(ids, attention, keep)
                probes["repeatedScoring"] = _difference(once[trained], twice[trained])
            # The row with most padding has most to lose.
            padding = (inputs["prompt_mask"] == 0).sum(1) + keep - torch.tensor(lengths, device=mask.device)
            j = int(torch.where(mask.any(1), padding, -1).argmax())
            if mask[j].any():
                length = lengths[j]
                own = torch.cat([inputs["prompt_ids"][j][inputs["prompt_mask"][j].bool()], inputs["completion_ids"][j, :length]])
                single = score(own[None], torch.ones_like(own[None]), length)[0]
                inside = mask[j, :length].bool()
                probes["aloneInBatch"] = _difference(single[inside], scoring.logprobs[j, :length].float()[inside])
            temperatures = sorted({1.0, float(self.trainer.temperature), float(self._sampler_temperature())})
            if len(temperatures) > 1 and self.rollout.plain:
                probes["temperatures"] = [
                    {"temperature": t, **self._at_temperature(t, lambda: score(ids, attention, keep), rows, lengths)}
                    for t in temperatures
                ]
        return probes

    def _at_temperature(self, temperature: float, score, rows, lengths) -> dict:
        """The trainer's log-probs at a temperature beside the sampler's, over the first rows."""
        declared = self.trainer.temperature
        self.trainer.temperature = temperature
        try:
            scored = score()
        finally:
            self.trainer.temperature = declared
        plain = [self.rollout.plain[row] for row in rows[: len(scored)]]
        both = [(scored[j, : len(own)].cpu(), torch.tensor(own)) for j, own in enumerate(plain) if len(own) <= lengths[j]]
        return _difference(torch.cat([a for a, _ in both]), torch.cat([b for _, b in both]))

    # ---- the update ---------------------------------------------------------------------------------------------------

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
            self.before = self._sampled_weights()
        self.rollout.seconds["optimizer"] -= time.perf_counter()

    def after_update(self) -> None:
        if self.rollout is None:
            return
        self.rollout.seconds["optimizer"] += time.perf_counter()
        with self.timed("record"):
            update, self.rollout.update = self.rollout.update, _update()
            if not getattr(self.trainer.accelerator, "optimizer_step_was_skipped", False):
                update.facts |= self._changed()
            update.facts["microBatches"] = {
                "executed": len(update.losses),
                "configured": int(
                    getattr(self.trainer, "current_gradient_accumulation_steps", None)
                    or self.trainer.args.gradient_accumulation_steps
                ),
            }
            update.facts["loss"] = float(torch.stack(update.losses).sum())
            self.rollout.updates.append(update)
            self.before = None

    def _sampled_weights(self) -> list[tuple[int, torch.Tensor]]:
        """Of each trained weight its size and a strided sample, of an odd stride so as not to stay in one column."""
        weights = [p.detach() for p in self.trainer.model.parameters() if p.requires_grad and p.numel() > 0]
        return [(w.numel(), w.reshape(-1)[:: (w.numel() // SAMPLED_ELEMENTS) | 1].clone()) for w in weights]

    def _changed(self) -> dict:
        """Estimated over the sample, each weight by its size."""
        pairs = list(zip(self.before, self._sampled_weights(), strict=True))
        if not pairs:
            return {}
        changed = sum(size * float((old != new).float().mean()) for (size, old), (_, new) in pairs)
        share = changed / sum(size for (size, _), _ in pairs)
        masters = _precision(self.trainer).get("masterWeights")
        if masters is None:
            return {"changedWeightShare": share}
        return {"changedShare": share} if masters else {"changedShare": share, "changedWeightShare": share}

    def end_step(self) -> None:
        if self.trainer.state.global_step <= 1 or self.rollouts == 0:
            self._check_fired()
        self.micro_steps.of_update = 0
        used_up = self.micro_steps.of_rollout >= _micro_steps(self.trainer)
        if self.rollout is not None and used_up:
            rollout, self.rollout = self.rollout, None
            _write(self.folder / f"{rollout.step:06d}", *_record(self.trainer, rollout))

    def _check_fired(self) -> None:
        silent = [name for name in self.original if name not in self.fired]
        essential = [name for name in silent if name in HOOKS and HOOKS[name][1] is None]
        if essential:
            raise RecorderError(
                f"after one step {type(self.trainer).__name__} of TRL {trl.__version__} has never called "
                f"{', '.join(essential)}: nothing is recorded"
            )
        for name in silent:
            if name in HOOKS and not (name.startswith("_get_per") and getattr(self.trainer, "use_liger_kernel", False)):
                self.lacks(f"{HOOKS[name][1]} ({name} is never called)")


class _SamplerSpy:
    """Log-probs of sampled tokens, read from inside of transformers' generate: before and after its processors.

    Each step's scores are kept until the next one shows which token was drawn. [B, V], one step at a time.
    """

    def __init__(self, temperature: float):
        self.temperature = temperature
        self.processors = None
        self.tokens, self.plain, self.drawn = [], [], []
        self.scores = []

    @contextmanager
    def watching(self, model):
        """Puts a listener before the first processor and one after the last, for one call of generate."""
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
        plain, drawn = (
            (scores.gather(1, tokens[:, None])[:, 0] - scores.logsumexp(1)).cpu() for scores in self.scores
        )
        self.tokens.append(tokens.cpu())
        self.plain.append(plain)
        self.drawn.append(drawn)
        self.scores = []

    def rows(self, ids):
        """Both log-probs of the completions; the last step's tokens are known only now."""
        longest = len(self.tokens) + 1
        device = self.scores[0].device
        self._take(torch.tensor([row[-1] if len(row) == longest else 0 for row in ids], device=device))
        tokens, plain, drawn = (torch.stack(steps, 1).tolist() for steps in (self.tokens, self.plain, self.drawn))
        for b, row in enumerate(ids):
            if tokens[b][: len(row)] != list(row):
                raise RecorderError(f"completion {b} is not what generate sampled: its ids were changed on the way")
        cut = [len(row) for row in ids]
        return [row[:n] for row, n in zip(plain, cut)], [row[:n] for row, n in zip(drawn, cut)]


class _Listener(LogitsProcessor):
    def __init__(self, hear):
        self.hear = hear

    def __call__(self, input_ids, scores):
        self.hear(input_ids, scores)
        return scores


# ---- the record -------------------------------------------------------------------------------------------------------


def _record(trainer, rollout) -> tuple[dict, dict]:
    """The record as JSON, and its arrays by their paths in it."""
    rows = sorted(rollout.scored)
    scored = [rollout.scored[row] for row in rows]
    if rows != list(range(len(rollout.data))):
        raise RecorderError(f"of {len(rollout.data)} sampled rows {len(rows)} were scored")
    prompt_ids = rollout.prompt_ids or [own.prompt for own in scored]
    prompt_of = _prompt_of(prompt_ids, trainer.num_generations)
    first = [prompt_of.index(p) for p in range(max(prompt_of) + 1)]
    tokenizer = _tokenizer(trainer)
    messages = [rollout.data[row]["prompt"] for row in first]
    facts, header = _tokenizer_facts(trainer, tokenizer, isinstance(messages[0], list))
    answers = next((name for name in ANSWER_COLUMNS if isinstance(rollout.data[0].get(name), str)), None)
    json_part = {
        "format": "grpo-step",
        "version": 1,
        "step": rollout.step,
        "producer": {"name": "trl", "version": trl.__version__},
        "versions": {
            "trl": trl.__version__,
            "transformers": transformers.__version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
        },
        "seed": trainer.args.seed,
        "declared": _declared(trainer, rollout),
        "settings": {**_settings(trainer), "logitsProcessors": rollout.processors},
        "tokenizer": facts,
        "prompts": {
            "messages": messages,
            "texts": [tokenizer.decode(prompt_ids[row], clean_up_tokenization_spaces=False) for row in first],
            "assistantHeader": header,
            "rows": [{k: v for k, v in rollout.data[row].items() if k != "prompt"} for row in first],
            "answers": answers and [rollout.data[row][answers] for row in first],
        },
        "completions": {
            "texts": rollout.texts or None,
            "finish": [_finish(ids, facts["endIds"], trainer.max_completion_length) for ids in rollout.ids] or None,
        },
        "rewards": {
            "names": list(trainer.reward_func_names),
            "weights": trainer.reward_weights.tolist(),
            "inputType": rollout.input_type,
            # A reward function that raises ends a run of TRL.
            "failures": [],
            "seconds": rollout.seconds["reward"],
        }
        if rollout.rewards
        else None,
        "updates": [dict(update.facts) for update in rollout.updates],
        "stages": _stages(rollout.seconds),
        "probes": rollout.probes,
    }
    wrong = [next((r for r in range(len(rows)) if prompt_of[r] == p and scored[r].prompt != prompt_ids[r]), row) for p, row in enumerate(first)]
    arrays = {
        "prompts.ids": _ints([prompt_ids[row] for row in first]),
        "prompts.lengths": _lengths([prompt_ids[row] for row in first]),
        "prompts.scoredIds": _ints([scored[row].prompt for row in wrong]),
        "prompts.scoredLengths": _lengths([scored[row].prompt for row in wrong]),
        "completions.prompt": np.array(prompt_of, np.int32),
        "completions.ids": _ints(rollout.ids),
        "completions.lengths": _lengths(rollout.ids),
        "completions.source": _flat(rollout.sources, np.uint8),
        "completions.samplerLogprobs": _flat(rollout.plain, np.float32),
        "completions.sampledLogprobs": _flat(rollout.drawn, np.float32),
        "scored.ids": _ints([own.ids for own in scored]),
        "scored.lengths": _lengths([own.ids for own in scored]),
        "scored.mask": _flat([own.mask for own in scored], np.uint8),
        "scored.oldLogprobs": _flat([own.old for own in scored], np.float32),
        "scored.referenceLogprobs": _flat([own.reference for own in scored], np.float32),
        "rewards.values": rollout.rewards and np.ascontiguousarray(np.concatenate(rollout.rewards).T).reshape(-1),
        "rewards.totals": rollout.totals and np.concatenate(rollout.totals),
        "advantages": np.array(rollout.advantages) if _comparable(trainer, rollout) else None,
    }
    for i, update in enumerate(rollout.updates):
        arrays[f"updates.{i}.completions"] = np.array(update.rows, np.int32)
        arrays[f"updates.{i}.policyLogprobs"] = _flat(update.logprobs, np.float32)
        arrays[f"updates.{i}.entropies"] = _flat(update.entropies, np.float32)
    return json_part, {name: array for name, array in arrays.items() if array is not None and len(array) > 0}


def _comparable(trainer, rollout) -> bool:
    """Whether the advantages can be judged by the rows of this process, one group after another."""
    if getattr(trainer, "multi_objective_aggregation", "sum_then_normalize") != "sum_then_normalize":
        return False
    if trainer.accelerator.num_processes == 1:
        return True
    return trainer.scale_rewards != "batch" and len(rollout.data) % trainer.num_generations == 0


def _prompt_of(prompt_ids, size: int) -> list[int]:
    """The prompt of each row: TRL's blocks, or where prompts differ within a block the rows of equal ids."""
    if all(ids == prompt_ids[row - row % size] for row, ids in enumerate(prompt_ids)):
        return [row // size for row in range(len(prompt_ids))]
    seen = {}
    return [seen.setdefault(tuple(ids), len(seen)) for ids in prompt_ids]


def _micro_steps(trainer) -> int:
    """Micro-steps that one generation serves."""
    args = trainer.args
    served = getattr(args, "steps_per_generation", None) or args.gradient_accumulation_steps
    return served * getattr(args, "num_iterations", 1)


def _sampling(trainer) -> dict:
    """Sampling as the sampler is told, `generation_kwargs` included."""
    told = getattr(trainer, "generation_config", None) or trainer
    names = {"topP": "top_p", "topK": "top_k", "minP": "min_p", "repetitionPenalty": "repetition_penalty"}
    given = {ours: getattr(told, theirs, None) for ours, theirs in names.items()}
    off = {"topP": 1, "topK": 0, "minP": 0, "repetitionPenalty": 1}
    return {name: off[name] if value is None else value for name, value in given.items()}


def _precision(trainer) -> dict:
    trained = {p.dtype for p in trainer.model.parameters() if p.requires_grad}
    autocast = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(trainer.accelerator.mixed_precision)
    forward = autocast or getattr(trainer.accelerator.unwrap_model(trainer.model), "dtype", torch.float32)
    precision = {"dtype": str(forward).removeprefix("torch.")}
    # DeepSpeed keeps masters of its own, out of sight.
    if not getattr(trainer, "is_deepspeed_enabled", False):
        precision["masterWeights"] = trained == {torch.float32} and forward != torch.float32
    return precision


def _declared(trainer, rollout) -> dict:
    args = trainer.args
    beta = getattr(trainer, "beta", None)
    scale = getattr(trainer, "scale_rewards", None)
    return {
        "groupSize": trainer.num_generations,
        "maxNewTokens": trainer.max_completion_length,
        "minNewTokens": getattr(getattr(trainer, "generation_config", None), "min_new_tokens", None),
        "temperature": trainer.temperature,
        **_sampling(trainer),
        "loss": getattr(trainer, "loss_type", None),
        "beta": beta,
        "kl": "k3" if beta else None,
        "clipLow": trainer.epsilon_low,
        "clipHigh": trainer.epsilon_high,
        "entropyCoefficient": getattr(trainer, "entropy_coef", None),
        "scaleRewards": {True: "group", False: "none"}.get(scale, scale),
        "advantageEpsilon": 1e-4,
        "advantageDdof": 1,
        "ratioLevel": getattr(trainer, "importance_sampling_level", "token"),
        "oldLogprobs": "detach" if rollout.scored[0].old is None else "recompute",
        "updatesPerRollout": _micro_steps(trainer) / args.gradient_accumulation_steps,
        "maskTruncated": getattr(trainer, "mask_truncated_completions", None),
        "learningRate": args.learning_rate,
        "maxGradNorm": args.max_grad_norm,
        "weightDecay": args.weight_decay,
        **_precision(trainer),
        "activeDropout": rollout.dropout,
        "rewardWeights": trainer.reward_weights.tolist(),
    }


def _settings(trainer) -> dict:
    """The fields that TRL adds to transformers' arguments: none of them names a machine or a secret."""
    common = inspect.signature(transformers.TrainingArguments).parameters
    return {name: value for name, value in vars(trainer.args).items() if name in inspect.signature(type(trainer.args)).parameters and name not in common and not name.startswith(("hub_", "vllm_server"))}


def _tokenizer(trainer):
    tokenizer = getattr(trainer, "_tokenizer", None) or trainer.processing_class
    return getattr(tokenizer, "tokenizer", tokenizer)


def _tokenizer_facts(trainer, tokenizer, conversational: bool) -> tuple[dict, str]:
    """Special ids, and what the template puts before an answer."""
    model = trainer.accelerator.unwrap_model(trainer.model)
    told = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    ends = {tokenizer.eos_token_id, *(told if isinstance(told, (list, tuple)) else [told])}
    special = {id: str(token) for id, token in tokenizer.added_tokens_decoder.items() if token.special}
    begins = tokenizer("a")["input_ids"][:1] == [tokenizer.bos_token_id]
    header = ""
    if conversational:
        opening, header, closing = _template_parts(trainer)
        begins = begins or bool(tokenizer.bos_token) and opening.startswith(tokenizer.bos_token)
        ends |= {id for id in tokenizer(closing, add_special_tokens=False)["input_ids"][:1] if id in special}
    facts = {
        "vocabularySize": getattr(model.config.get_text_config(), "vocab_size", None),
        "bosId": tokenizer.bos_token_id,
        "expectedBos": None if tokenizer.bos_token_id is None else int(begins),
        "padId": tokenizer.pad_token_id,
        "endIds": sorted(ends - {None}),
        "specialTokens": special,
    }
    return facts, header


def _template_parts(trainer) -> tuple[str, str, str]:
    """A rendered question, what stands between it and an answer, and what follows the answer."""

    def render(messages, **options):
        return trainer.processing_class.apply_chat_template(
            messages,
            tools=getattr(trainer, "tools", None) or None,
            chat_template=getattr(trainer, "chat_template", None),
            tokenize=False,
            **options,
            **(getattr(trainer, "chat_template_kwargs", None) or {}),
        )

    question = [{"role": "user", "content": "question"}]
    closed = render(question, add_generation_prompt=False)
    opened = render(question, add_generation_prompt=True)
    whole = render([*question, {"role": "assistant", "content": ANSWER}], add_generation_prompt=False)
    answer = whole.find(ANSWER)
    if answer < 0:
        raise RecorderError("the chat template drops an assistant's answer: its header cannot be told")
    header = whole[len(os.path.commonprefix([closed, whole[:answer]])) : answer]
    prompted = opened[len(closed) :] if opened.startswith(closed) else ""
    # The generation prompt may go on beyond the header, as with an opened <think>.
    if prompted and (prompted.startswith(header) or header.startswith(prompted)):
        header = prompted
    return closed, header, whole[answer + len(ANSWER) :]


def _active_dropout(model) -> list[str]:
    """Modules in training mode that drop something."""
    names = []
    for name, module in model.named_modules():
        if not module.training:
            continue
        if isinstance(module, torch.nn.modules.dropout._DropoutNd):
            names += [name] if module.p > 0 else []
            continue
        rates = {rate: getattr(module, rate, None) for rate in DROPOUT_RATES}
        names += [f"{name}.{rate}" for rate, p in rates.items() if isinstance(p, float) and p > 0]
    return names


def _stages(seconds) -> list[dict]:
    rest = seconds["rollout"] - seconds["sample"] - seconds["reward"]
    stages = {
        "sample": seconds["sample"],
        "reward": seconds["reward"],
        "score": rest,
        "update": seconds["micro-step"] - seconds["rollout"] - seconds["probe"] + seconds["optimizer"],
        "record": seconds["probe"] + seconds["record"],
    }
    return [{"name": name, "seconds": max(0.0, value)} for name, value in stages.items()]


def _finish(ids, end_ids, most: int) -> str:
    return "length" if len(ids) >= most and ids[-1] not in end_ids else "stop"


def _text_of(completion) -> str:
    """A completion as text: itself, or what its messages of the assistant say."""
    if isinstance(completion, str):
        return completion
    contents = [message.get("content") or "" for message in completion if message.get("role") == "assistant"]
    parts = [content if isinstance(content, str) else "".join(part.get("text", "") for part in content) for content in contents]
    return "\n".join(parts)


def _difference(a: torch.Tensor, b: torch.Tensor) -> dict:
    gap = (a.double().cpu() - b.double().cpu()).abs()
    return {"mean": float(gap.mean()), "max": float(gap.max()), "tokens": gap.numel()}


def _row(values, j: int, length: int):
    return None if values is None else values[j, :length].detach().float().cpu().tolist()


def _flat(rows, dtype):
    if not rows or rows[0] is None:
        return None
    return np.array([value for row in rows for value in row], dtype)


def _ints(rows):
    return _flat(rows, np.int32)


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


def _write(folder: Path, json_part: dict, arrays: dict) -> None:
    """The JSON comes last and at once: a record is whole where it is there."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "step.safetensors").write_bytes(save(arrays))
    unfinished = folder / "step.json.tmp"
    unfinished.write_text(json.dumps(_plain(json_part), ensure_ascii=False) + "\n", encoding="utf-8")
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
    return value if isinstance(value, (int, float, bool, type(None))) else f"<{type(value).__name__}>"
