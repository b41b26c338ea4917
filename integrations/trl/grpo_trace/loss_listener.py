"""Listens to the loss: its input, row by row, and the log-probs that it scored."""

from __future__ import annotations

from contextlib import contextmanager

import torch
import trl

from .errors import RecorderError
from .hooks import SCORE
from .probes import active_dropout, probe
from .rollout import ROW, Pass, Scored, Scoring


class LossListener:
    def __init__(self, recorder):
        self.recorder = recorder
        self.trainer = recorder.trainer
        # Calls of TRL's own loss within an override.
        self.passes = []
        # The pass that scorings belong to now.
        self.listening = None
        # A forward pass of one process alone would leave the others waiting.
        self.probing = self.trainer.accelerator.num_processes == 1
        if not self.probing:
            recorder.lacks("probes, and rows of other processes")

    def on_get_per_token_logps_and_entropies(self, original, model, *args, **kwargs):
        output = original(model, *args, **kwargs)
        if self.listening is not None:
            self.listening.scorings.append(Scoring(model, output[0].detach(), output[1], kwargs))
        return output

    def on_compute_loss(self, original, model, inputs, *args, **kwargs):
        if self.recorder.recording is None:
            return original(model, inputs, *args, **kwargs)
        if ROW not in inputs:
            self.recorder.drop(f"TRL {trl.__version__} builds its micro-batches anew: their rows cannot be told apart")
            return original(model, inputs, *args, **kwargs)
        outside, self.passes = Pass(inputs), []
        with self._listening(outside):
            loss = original(model, inputs, *args, **kwargs)
        if self.recorder.rollout is None:
            return loss
        with self.recorder.timed("probe"), self.recorder.aside():
            # TRL's own loss within an override counts; where the override never calls it, the override is the loss.
            for loss_pass in self.passes or [outside]:
                self._take(loss_pass)
        audit = self.recorder.rollout and self.recorder.rollout.audit
        if audit is not None and self.recorder.update_micro_steps == 0:
            audit.loss = float(loss.detach())
        return loss

    def within_compute_loss(self, original, model, inputs, *args, **kwargs):
        if self.listening is None:
            return original(model, inputs, *args, **kwargs)
        rows = self.listening.inputs[ROW]
        if self.recorder.rollout is None:
            return original(model, inputs, *args, **kwargs)
        if ROW not in inputs and len(inputs["completion_ids"]) != len(rows):
            self.recorder.drop("an override of compute_loss cuts micro-batches anew: their rows cannot be told apart")
            return original(model, inputs, *args, **kwargs)
        self.passes.append(Pass({ROW: rows, **inputs}))
        with self._listening(self.passes[-1]):
            return original(model, inputs, *args, **kwargs)

    @contextmanager
    def _listening(self, loss_pass: Pass):
        outside, self.listening = self.listening, loss_pass
        try:
            yield
        finally:
            self.listening = outside

    def _take(self, loss_pass: Pass) -> None:
        """Keeps the input of the loss, row by row; probes once per record."""
        inputs, scorings = loss_pass.inputs, loss_pass.scorings
        if len(scorings) > 1:
            raise RecorderError(f"the loss scored a micro-batch {len(scorings)} times: which one counts is unknown")
        rollout, rows = self.recorder.rollout, inputs[ROW].tolist()
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
                self.recorder.lacks(f"probes of batches with {', '.join(more)}")
            elif self.probing:
                score = self.recorder.listeners.original[SCORE]
                rollout.probes |= probe(self.trainer, score, rollout, scoring, inputs, mask.bool(), rows, lengths)


def row_of(values, j: int, length: int) -> list | None:
    return None if values is None else values[j, :length].tolist()
