"""Listens to a trainer while it trains, and writes the records."""

from __future__ import annotations

import functools
import json
import platform
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

import torch
import transformers
import trl

from .audit import Audit, reference_sum, sum_of
from .declared import (
    changed_settings,
    chosen_by,
    effective_settings,
    headless,
    left_out,
    micro_steps,
    schedules_another,
    search,
    settings,
    tokenizer_facts,
    tokenizer_of,
)
from .errors import RecorderError
from .generation_listener import GenerationListener
from .hooks import HOOKS, OVERRIDABLE, SCORE
from .listeners import Listeners, overridden
from .loss_listener import LossListener
from .probes import added_tokens, contradictions, held_out_prompts, merged_adapters, prompts_of, random_state, random_states_kept
from .record import record_of, write
from .reward_listener import RewardListener
from .rollout import ROW, Rollout
from .sampled import are_others
from .update_listener import UpdateListener

# The error that ended the run; a resumed run has none.
ERROR = "error.json"
MOST_CHARACTERS = 2000


class Recorder:
    def __init__(self, trainer, folder: Path, every: int, audit_every: int, listeners: Listeners):
        self.trainer = trainer
        self.folder = folder
        self.every = every
        self.audit_every = audit_every
        self.listeners = listeners
        self.overridden = overridden(trainer, OVERRIDABLE)
        # TRL creates none before it trains.
        self.optimizer_is_own = trainer.optimizer is not None
        self.schedule_is_own = trainer.lr_scheduler is not None
        self.reference = None
        # Step that the last update was of, and samples of the weights that it left; what the optimizer had counted then.
        self.left = None, {}
        self.counted = {}
        self.checksums = None
        self.text_changes = None
        # The random numbers at both ends of the rollout that was recorded before.
        self.drawn = None, None
        # The settings when training began, and the tensors that asked for a gradient.
        self.began = effective_settings(trainer)
        self.trainable = 0
        # Prompts of the batch that the last rollout was sampled from.
        self.sampled_prompts = []
        # Held-out prompts and those that are trained on, once they are counted.
        self.held_out = None
        self.rollout = None
        self.rollouts = 0
        self.rollout_micro_steps = 0
        self.update_micro_steps = 0
        self.generation = GenerationListener(self)
        self.rewards = RewardListener(self)
        self.loss = LossListener(self)
        self.updates = UpdateListener(self)

    @property
    def outside(self) -> dict:
        """Listeners around the trainer's methods, overrides included: one for each of HOOKS."""
        return {
            "training_step": self.on_training_step,
            "compute_loss": self.loss.on_compute_loss,
            "_generate_and_score_completions": self.on_generate_and_score_completions,
            "_generate": self.generation.on_generate,
            "_generate_single_turn": self.generation.on_generate_single_turn,
            "_calculate_rewards": self.rewards.on_calculate_rewards,
            SCORE: self.loss.on_get_per_token_logps_and_entropies,
        }

    def lacks(self, what: str) -> None:
        warnings.warn(f"grpo_trace cannot record {what}; TRL {trl.__version__}", stacklevel=3)

    @contextmanager
    def aside(self):
        """What goes wrong in the recorder's own work costs the record of the step, and not the run."""
        try:
            yield
        except Exception as error:
            self.drop(f"{type(error).__name__}: {error}")

    def drop(self, why: str) -> None:
        """Leaves the step without a record."""
        rollout, self.rollout = self.rollout, None
        step = rollout.step if rollout else self.trainer.state.global_step
        warnings.warn(f"grpo_trace leaves step {step} without a record, and the run goes on: {why}", stacklevel=4)

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

    def on_training_step(self, original, *args, **kwargs):
        is_first = self.update_micro_steps == 0
        fetched = kwargs.get("inputs", args[1] if len(args) > 1 else None)
        try:
            with self.timed("micro-step"):
                loss = original(*args, **kwargs)
        except Exception as error:
            self._crashed(error)
            raise
        self.rollout_micro_steps += 1
        self.update_micro_steps += 1
        if self.rollout is not None:
            self.rollout.update.losses.append(loss.detach())
            # TRL's sampler gives a batch again for each micro-step that its completions serve.
            if isinstance(fetched, list):
                skipped = len(fetched) if prompts_of(fetched) != self.sampled_prompts else 0
                self.rollout.probes["skipped"] = self.rollout.probes.get("skipped", 0) + skipped
            audit = self.rollout.audit
            if audit is not None and not self.rollout.updates and is_first:
                with self.timed("audit"), random_states_kept(), self.aside():
                    audit.micro_batch(self.rollout)
        return loss

    def on_generate_and_score_completions(self, original, inputs, *args, **kwargs):
        if not self.trainer.model.training:
            return original(inputs, *args, **kwargs)
        self.rollout_micro_steps = 0
        self.sampled_prompts = prompts_of(inputs)
        if self.rollout is None and self.update_micro_steps == 0:
            self.rollouts += 1
            step, left = self.left
            left = left if step == self.trainer.state.global_step else {}
            due = self.rollouts <= 2 or self.rollouts % self.every == 0 or self._audits()
            # A step of its own is recorded where something else has changed the weights since.
            if due or are_others(self.trainer.model, left):
                self.rollout = Rollout(self.trainer.state.global_step + 1)
                if self.audit_every > 0:
                    self.rollout.audit = Audit(self, is_whole=self._audits())
                    self.rollout.audit.weights_between(left)
        began = random_state(self.trainer.accelerator.device)
        before = self.rollout and self.rollout.sizes()
        with self.timed("rollout"):
            output = original(inputs, *args, **kwargs)
        ended = random_state(self.trainer.accelerator.device)
        rollout = self.rollout
        if rollout is None:
            return output
        with self.aside():
            discarded = rollout.keep_one(before, output["completion_ids"].tolist())
            rollout.probes["discarded"] = rollout.probes.get("discarded", 0) + discarded
            # A rollout that draws nothing here, as with vLLM, leaves the numbers where they are.
            if began == self.drawn[0] != self.drawn[1]:
                rollout.probes["reseeded"] = True
            self.drawn = began, ended
            output[ROW] = torch.arange(len(rollout.data), len(rollout.data) + len(inputs))
            rollout.data += inputs
            # MiniLLM and others have one per token.
            rollout.advantages += output["advantages"].tolist() if output["advantages"].dim() == 1 else []
            self.rewards.check_totals(rollout)
        return output

    def _crashed(self, error: Exception) -> None:
        """Writes down the error that ends the run, and whether the model could be trained at all by then."""
        trainable = sum(p.requires_grad for p in self.trainer.model.parameters())
        lost = f" (no weight asks for a gradient any more; {self.trainable} did when training began)"
        text = f"{type(error).__name__}: {error}" + (lost if trainable == 0 < self.trainable else "")
        self.folder.mkdir(parents=True, exist_ok=True)
        told = {"step": self.trainer.state.global_step, "error": text[:MOST_CHARACTERS]}
        (self.folder / ERROR).write_text(json.dumps(told), encoding="utf-8")

    def _audits(self) -> bool:
        return self.audit_every > 0 and (self.rollouts <= 2 or self.rollouts % self.audit_every == 0)

    def begin(self) -> None:
        (self.folder / ERROR).unlink(missing_ok=True)
        self.began = effective_settings(self.trainer)
        self.trainable = sum(p.requires_grad for p in self.trainer.model.parameters())
        self.updates.began = self.trainer.state.global_step
        if self.audit_every == 0:
            return
        self.reference = reference_sum(self.trainer)
        policy, reference = self.trainer.accelerator.unwrap_model(self.trainer.model), getattr(self.trainer, "ref_model", None)
        if self.reference is not None and policy.dtype == reference.dtype and self.trainer.state.global_step == 0:
            self.checksums = {"policy": sum_of(policy), "reference": self.reference}

    def end_step(self) -> None:
        if self.trainer.state.global_step <= 1 or self.rollouts == 0:
            self._check_fired()
        self.update_micro_steps = 0
        if self.rollout is not None and self.rollout_micro_steps >= micro_steps(self.trainer):
            with self.aside():
                self._write(self.rollout)
            self.rollout = None

    def _write(self, rollout: Rollout) -> None:
        if self.checksums and rollout.step == 1:
            rollout.probes["checksums"] = self.checksums
        if self.held_out is None:
            self.held_out = held_out_prompts(self.trainer)
        rollout.probes |= {"heldOut": self.held_out} if self.held_out else {}
        if self.trainer.state.global_step <= 1:
            model = self.trainer.accelerator.unwrap_model(self.trainer.model)
            told = contradictions(self.trainer.train_dataset)
            rollout.probes |= {"contradictions": told} if told else {}
            rollout.probes["added"] = added_tokens(model, tokenizer_of(self.trainer), rollout.prompt_ids)
        rollout.probes |= chosen_by(self.trainer.args)
        rollout.probes |= {
            "changedSettings": changed_settings(self.began, effective_settings(self.trainer)),
            **search(self.trainer),
            "headless": headless(self.rewards.functions),
            "merged": merged_adapters(self.trainer.model),
            "epoch": self.trainer.state.epoch,
            "leftOut": left_out(self.trainer),
            "schedulesAnother": schedules_another(self.trainer),
            "trainable": sum(p.requires_grad for p in self.trainer.model.parameters()),
        }
        write(self.folder / f"{rollout.step:06d}", *record_of(self.trainer, rollout, self.facts, self.text_changes))
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
        """Facts of the run, the same in every record."""
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
