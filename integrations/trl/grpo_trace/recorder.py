"""What listens to a trainer while it trains, and puts together the records."""

from __future__ import annotations

import functools
import inspect
import math
import platform
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
import transformers
import trl

from .audit import Audit, reference_sum
from .declared import SAMPLING, micro_steps, precision, sampler_temperature, sampling, settings, tokenizer_facts
from .errors import RecorderError
from .grading import Grading, text_of
from .listeners import Listeners, overridden
from .probes import active_dropout, probe, random_states_kept
from .record import record_of, write
from .rollout import Pass, Rollout, Scored, Scoring, Update
from .sampled import sample_of, trained
from .sampler_spy import SamplerSpy

# Key under which each row of TRL's batch carries its number through shuffling and splitting.
ROW = "grpo_trace_row"

SCORE = "_get_per_token_logps_and_entropies"
# What is heard: the leading parameters that must be there, and what records lack without it (None: essential).
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
# Methods that make a step what it is.
OVERRIDABLE = (*HOOKS, "_compute_loss", "_prepare_inputs", "_tokenize_prompts", "create_optimizer", "create_scheduler")


def offers(base: type, name: str, parameters: tuple[str, ...]) -> bool:
    """Whether TRL's own method has these parameters; an override may have any that take the same call."""
    method = getattr(base, name, None)
    return callable(method) and tuple(inspect.signature(method).parameters)[1 : len(parameters) + 1] == parameters


def signature_of(name: str) -> str:
    return f"{name}({', '.join(HOOKS[name][0])})"


class Recorder:
    def __init__(self, trainer, folder: Path, every: int, audit_every: int, listeners: Listeners):
        self.trainer = trainer
        self.folder = folder
        self.every = every
        self.audit_every = audit_every
        self.listeners = listeners
        self.overridden = overridden(trainer, OVERRIDABLE)
        self.grading = Grading()
        # TRL creates none before it trains.
        self.optimizer_is_own = trainer.optimizer is not None
        self.schedule_is_own = trainer.lr_scheduler is not None
        self.reference = None
        self.rollout = None
        self.rollouts = 0
        self.rollout_micro_steps = 0
        self.update_micro_steps = 0
        self.turns = None
        self.turn = None
        self.passes = []
        self.listening = None
        self.grad_norm = None
        self.weights = None
        # A forward pass of one process alone would leave the others waiting.
        self.probing = trainer.accelerator.num_processes == 1
        if not self.probing:
            self.lacks("probes, and rows of other processes")

    def lacks(self, what: str) -> None:
        warnings.warn(f"grpo_trace cannot record {what}; TRL {trl.__version__}", stacklevel=3)

    @property
    def recording(self) -> Rollout | None:
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
        is_first = self.update_micro_steps == 0
        with self.timed("micro-step"):
            loss = original(*args, **kwargs)
        self.rollout_micro_steps += 1
        self.update_micro_steps += 1
        if self.rollout is not None:
            self.rollout.update.losses.append(loss.detach())
            audit = self.rollout.audit
            if audit is not None and is_first and not self.rollout.updates:
                with self.timed("audit"), random_states_kept():
                    audit.micro_batch(self.rollout)
        return loss

    def on_generate_and_score_completions(self, original, inputs, *args, **kwargs):
        if not self.trainer.model.training:
            return original(inputs, *args, **kwargs)
        self.rollout_micro_steps = 0
        if self.rollout is None and self.update_micro_steps == 0:
            self.rollouts += 1
            if self.rollouts <= 2 or self.rollouts % self.every == 0 or self._audits():
                self.rollout = Rollout(self.trainer.state.global_step + 1)
                if self._audits():
                    self.rollout.audit = Audit(self)
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

    def _audits(self) -> bool:
        return self.audit_every > 0 and (self.rollouts <= 2 or self.rollouts % self.audit_every == 0)

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
        prompt_ids, ids, tool_mask, completions = output[:4]
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
                neutral = all(sampling(self.trainer).get(ours) == off for ours, _, off in SAMPLING)
                rollout.plain += drawn if neutral else []
        rollout.prompt_ids += [list(map(int, row)) for row in prompt_ids]
        rollout.ids += [list(map(int, row)) for row in ids]
        own = [[1] * len(row) for row in ids] if tool_mask is None else tool_mask
        rollout.sources += [[1 - value for value in row] for row in own]
        rollout.sampled += completions
        return output

    def on_generate_single_turn(self, original, prompt_ids, *args, **kwargs):
        if self.recording is None or self.turns is None:
            return original(prompt_ids, *args, **kwargs)
        self.turn = None
        model = self.trainer.accelerator.unwrap_model(self.trainer.model)
        spy = SamplerSpy(sampler_temperature(self.trainer))
        with spy.within(model.get_base_model() if hasattr(model, "get_base_model") else model):
            output = original(prompt_ids, *args, **kwargs)
        # As TRL's own method had it, where an override calls that; else as the override has it.
        inner, self.turn = self.turn, None
        self.turns.append((*(inner or (prompt_ids, *output[:2])), spy))
        return output

    def within_generate_single_turn(self, original, prompt_ids, *args, **kwargs):
        output = original(prompt_ids, *args, **kwargs)
        self.turn = (prompt_ids, *output[:2])
        return output

    # ---- rewards -----------------------------------------------------------------------------------------------------

    def on_calculate_rewards(self, original, inputs, prompts, completions, *args, **kwargs):
        rollout = self.recording
        if rollout is None:
            return original(inputs, prompts, completions, *args, **kwargs)
        with self.timed("reward"), self.grading.hearing():
            values = original(inputs, prompts, completions, *args, **kwargs)
        # Those that the reward functions saw; those of the method where none was called.
        seen = self.grading.completions(len(prompts)) or completions
        rollout.texts += [text_of(completion) for completion in seen]
        rollout.input_type = "text" if isinstance(seen[0], str) else "messages"
        # Of all processes; those of the first one, which records, come first.
        own = values[: len(prompts)].detach().double().cpu().numpy()
        weighted = own * self.trainer.reward_weights.double().cpu().numpy()
        rollout.rewards.append(own)
        rollout.totals.append(np.where(np.isnan(own).all(1), np.nan, np.nansum(weighted, 1)))
        return values

    # ---- scoring -----------------------------------------------------------------------------------------------------

    def on_get_per_token_logps_and_entropies(self, original, model, *args, **kwargs):
        output = original(model, *args, **kwargs)
        if self.listening is not None:
            self.listening.scorings.append(Scoring(model, output[0].detach(), output[1], kwargs))
        return output

    def on_compute_loss(self, original, model, inputs, *args, **kwargs):
        if self.recording is None:
            return original(model, inputs, *args, **kwargs)
        if ROW not in inputs:
            raise RecorderError(f"TRL {trl.__version__} builds its micro-batches anew: their rows cannot be told apart")
        outside, self.passes = Pass(inputs), []
        with self._listening(outside):
            loss = original(model, inputs, *args, **kwargs)
        with self.timed("probe"):
            # What TRL's own loss was given, within an override; where that never calls it, the override is the loss.
            for own in self.passes or [outside]:
                self._take(own)
        if self.rollout.audit is not None and self.update_micro_steps == 0:
            self.rollout.audit.loss = float(loss.detach())
        return loss

    def within_compute_loss(self, original, model, inputs, *args, **kwargs):
        if self.listening is None:
            return original(model, inputs, *args, **kwargs)
        rows = self.listening.inputs[ROW]
        if ROW not in inputs and len(inputs["completion_ids"]) != len(rows):
            raise RecorderError("an override of compute_loss cuts micro-batches anew: their rows cannot be told apart")
        self.passes.append(Pass({ROW: rows, **inputs}))
        with self._listening(self.passes[-1]):
            return original(model, inputs, *args, **kwargs)

    @contextmanager
    def _listening(self, own: Pass):
        outside, self.listening = self.listening, own
        try:
            yield
        finally:
            self.listening = outside

    def _take(self, own: Pass) -> None:
        """Keeps what the loss was given, row by row; probes once a record."""
        inputs, scorings = own.inputs, own.scorings
        if len(scorings) > 1:
            raise RecorderError(f"the loss scored a micro-batch {len(scorings)} times: which one counts is unknown")
        rollout, rows = self.rollout, inputs[ROW].tolist()
        given = {key: value.cpu() for key, value in inputs.items() if isinstance(value, torch.Tensor)}
        mask = given["completion_mask"] * given.get("tool_mask", 1)
        lengths = []
        for j, row in enumerate(rows):
            reach = int(mask[j].nonzero().max()) + 1 if mask[j].any() else 0
            sampled = len(rollout.ids[row]) if rollout.ids else int(given["completion_mask"][j].sum())
            lengths.append(min(mask.shape[1], max(reach, sampled)))
            rollout.scored[row] = Scored(
                given["prompt_ids"][j][given["prompt_mask"][j].bool()].tolist(),
                *(row_of(values, j, lengths[j]) for values in (given["completion_ids"], mask)),
                *(row_of(given.get(key), j, lengths[j]) for key in ("old_per_token_logps", "ref_per_token_logps")),
                given["advantages"][j].tolist(),
            )
        update = rollout.update
        update.rows += rows
        if not scorings:
            return
        [scoring] = scorings
        update.logprobs += [row_of(scoring.logprobs, j, lengths[j]) for j in range(len(rows))]
        update.entropies += [row_of(scoring.entropies, j, lengths[j]) for j in range(len(rows))]
        if rollout.dropout is None:
            rollout.dropout = active_dropout(scoring.model)
            given = {key for key, value in scoring.options.items() if value is not None}
            more = sorted(given - {"batch_size", "compute_entropy", "compute_aux_loss"})
            if self.probing and more:
                self.probing = False
                self.lacks(f"probes of batches with {', '.join(more)}")
            elif self.probing:
                score = self.listeners.original[SCORE]
                rollout.probes = probe(self.trainer, score, rollout, scoring, inputs, mask.bool(), rows, lengths)

    # ---- the update --------------------------------------------------------------------------------------------------

    def on_clip_grad_norm(self, original, *args, **kwargs):
        if self.rollout is not None and self.rollout.audit is not None and not self.rollout.updates:
            with self.timed("audit"):
                self.rollout.audit.before_clipping()
        # Of the gradient before clipping.
        self.grad_norm = original(*args, **kwargs)
        return self.grad_norm

    def begin(self) -> None:
        self.reference = reference_sum(self.trainer) if self.audit_every > 0 else None

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
        if self.rollout.audit is not None and not self.rollout.updates:
            with self.timed("audit"):
                self.rollout.audit.before_update(facts.get("gradNorm"))
        self.rollout.seconds["optimizer"] -= time.perf_counter()

    def after_update(self) -> None:
        if self.rollout is None:
            return
        self.rollout.seconds["optimizer"] += time.perf_counter()
        with self.timed("record"):
            update, self.rollout.update = self.rollout.update, Update()
            was_skipped = getattr(self.trainer.accelerator, "optimizer_step_was_skipped", False)
            if not was_skipped:
                update.facts |= self._changed_shares()
            if self.rollout.audit is not None and not self.rollout.updates:
                with self.timed("audit"):
                    self.rollout.audit.updated(was_skipped)
            configured = getattr(self.trainer, "current_gradient_accumulation_steps", None)
            update.facts["microBatches"] = {
                "executed": len(update.losses),
                "configured": int(configured or self.trainer.args.gradient_accumulation_steps),
            }
            update.facts["loss"] = float(torch.stack(update.losses).sum())
            self.rollout.updates.append(update)

    def _sampled_weights(self) -> list[tuple[int, torch.Tensor]]:
        """Of each trained weight its size and a sample."""
        return [(p.numel(), sample_of(p)) for p in trained(self.trainer.model).values()]

    def _changed_shares(self) -> dict:
        """Estimated over the samples, each weight by its size."""
        sizes = [size for size, _ in self.weights]
        if not sizes:
            return {}
        pairs = zip(self.weights, self._sampled_weights(), strict=True)
        share = sum(size * float((old != new).float().mean()) for (size, old), (_, new) in pairs) / sum(sizes)
        masters = precision(self.trainer).get("masterWeights")
        if masters is None:
            return {"changedWeightShare": share}
        return {"changedShare": share} if masters else {"changedShare": share, "changedWeightShare": share}

    def end_step(self) -> None:
        if self.trainer.state.global_step <= 1 or self.rollouts == 0:
            self._check_fired()
        self.update_micro_steps = 0
        if self.rollout is not None and self.rollout_micro_steps >= micro_steps(self.trainer):
            rollout, self.rollout = self.rollout, None
            write(self.folder / f"{rollout.step:06d}", *record_of(self.trainer, rollout, self.facts))
            if rollout.audit is not None:
                rollout.audit.warn(rollout.step)

    def _check_fired(self) -> None:
        heard = self.listeners
        silent = [name for name in HOOKS if name in heard.original and name not in heard.fired]
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
            "settings": {**settings(self.trainer.args), "overridden": self.overridden or None},
            "tokenizer": tokenizer_facts(self.trainer),
        }


def row_of(values, j: int, length: int) -> list | None:
    return None if values is None else values[j, :length].tolist()
