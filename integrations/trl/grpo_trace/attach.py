"""Attaches the recorder to a trainer, and detaches it."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import trl
from transformers import TrainerCallback

from .errors import RecorderError
from .hooks import HOOKS, offers, signature_of
from .listeners import Listeners, trl_class_of
from .recorder import ERROR, Recorder

# Rollouts between two that are audited, after the first two.
AUDIT_EVERY = 50


class Recording:
    """A recorder on its trainer."""

    def __init__(self, listeners: Listeners, callback: TrainerCallback | None):
        self._listeners = listeners
        self._callback = callback

    def detach(self) -> None:
        """Leaves the trainer as it was; a rollout that is not whole is not written."""
        trainer = self._listeners.trainer
        self._listeners.remove()
        if self._callback is not None:
            trainer.remove_callback(self._callback)


def attach(
    trainer,
    folder: str | os.PathLike | None = None,
    every: int = 10,
    audit_every: int = AUDIT_EVERY,
    text_changes: list[str] | None = None,
) -> Recording:
    """Has `trainer` leave step records in `folder`, or in its output_dir: of its first two rollouts and of every
    `every`-th. The first two and every `audit_every`-th are audited, too, which calls reward functions again on a few
    completions; 0 audits none.

    text_changes: what your overrides change on purpose between the sampled text and the one that rewards get: "prompt",
    "stop", "cut", "rewritten" (docs/step-record.md). TRL itself changes nothing.

    With several processes the first one records, its own rows.

    Raises RecorderError where the trainer lacks what is essential; warns of what it cannot record.
    """
    base = trl_class_of(trainer)
    if base is None:
        raise RecorderError(f"{type(trainer).__name__} is no trainer of TRL: nothing can be recorded")
    missing = [name for name, (parameters, _) in HOOKS.items() if not offers(base, name, parameters)]
    missing += [name for name in HOOKS if name not in missing and not callable(getattr(trainer, name))]
    essential = [signature_of(name) for name in missing if HOOKS[name][1] is None]
    if essential:
        raise RecorderError(
            f"{type(trainer).__name__} of TRL {trl.__version__} has no {', '.join(essential)}: nothing can be recorded"
        )
    if isinstance(getattr(trainer.training_step, "listeners", None), Listeners):
        raise RecorderError("this trainer is recorded already: attach() once, or detach() first")
    listeners = Listeners(trainer)
    if not trainer.accelerator.is_main_process:
        return Recording(listeners, None)
    recorder = Recorder(trainer, Path(folder or trainer.args.output_dir) / "steps", every, audit_every, listeners)
    recorder.text_changes = text_changes
    for name, around in recorder.outside.items():
        if name in missing:
            recorder.lacks(f"{HOOKS[name][1]} (no {signature_of(name)})")
        else:
            listeners.outside(trainer, name, around)
    losses = ("_compute_loss", "compute_liger_loss") if hasattr(base, "_compute_loss") else ("compute_loss",)
    inner = {"_generate_single_turn": recorder.generation.within_generate_single_turn}
    listeners.inside(inner | dict.fromkeys(losses, recorder.loss.within_compute_loss))
    listeners.outside(trainer.accelerator, "clip_grad_norm_", recorder.updates.on_clip_grad_norm)
    listeners.replace(trainer, "reward_funcs", recorder.rewards.grading.listening(trainer.reward_funcs))
    callback = _Callback(recorder)
    trainer.add_callback(callback)
    return Recording(listeners, callback)


class _Callback(TrainerCallback):
    def __init__(self, recorder: Recorder):
        self.recorder = recorder

    def on_train_begin(self, args, state, control, **kwargs):
        folder = self.recorder.folder
        if state.global_step == 0 and folder.exists() and any(one.name != ERROR for one in folder.iterdir()):
            raise RecorderError(f"{folder} holds records of an earlier run: name another folder")
        self.recorder.begin()

    def on_pre_optimizer_step(self, args, state, control, **kwargs):
        with self.recorder.aside():
            self.recorder.updates.before_update()

    def on_optimizer_step(self, args, state, control, **kwargs):
        with self.recorder.aside():
            self.recorder.updates.after_update()

    def on_step_end(self, args, state, control, **kwargs):
        self.recorder.end_step()

    def on_train_end(self, args, state, control, **kwargs):
        if self.recorder.rollout is not None:
            warnings.warn("grpo_trace: training ended within a rollout, which is not recorded", stacklevel=2)
