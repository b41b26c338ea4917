"""Listens to the optimizer's updates: rate, gradient norm, and how far the weights move."""

from __future__ import annotations

import time

import torch

from .declared import is_sharded, precision
from .rollout import Update
from .sampled import counts_of, sample_of, trained


class UpdateListener:
    def __init__(self, recorder):
        self.recorder = recorder
        self.trainer = recorder.trainer
        self.grad_norm = None
        self.weights = None
        self.gradients = []
        # Updates that were made before this training began: some where it goes on from a checkpoint.
        self.began = 0

    def on_clip_grad_norm(self, original, *args, **kwargs):
        rollout = self.recorder.rollout
        if rollout is not None and rollout.update_audit is not None:
            with self.recorder.timed("audit"), self.recorder.aside():
                rollout.update_audit.before_clipping()
        # The norm before clipping.
        self.grad_norm = original(*args, **kwargs)
        return self.grad_norm

    def before_update(self) -> None:
        rollout = self.recorder.rollout
        if rollout is None:
            return
        with self.recorder.timed("record"):
            facts = rollout.update.facts
            facts["learningRate"] = float(self.trainer.optimizer.param_groups[0]["lr"])
            if self.grad_norm is not None:
                facts["gradNorm"] = float(self.grad_norm)
            gradients = gradients_that_may_be(self.trainer.model)
            if any(gradient is not None for gradient in gradients):
                facts["zeroGradients"] = sum(g is None or not g.any() for g in gradients) / len(gradients)
            self.weights = self._sampled_weights()
            self.gradients = [None if p.grad is None else sample_of(p.grad) for p in trained(self.trainer.model).values()]
        if rollout.update_audit is not None:
            with self.recorder.timed("audit"):
                rollout.update_audit.before_update(facts.get("gradNorm"))
        rollout.seconds["optimizer"] -= time.perf_counter()

    def after_update(self) -> None:
        if self.recorder.audit_every > 0 and not is_sharded(self.trainer):
            weights = {name: sample_of(p) for name, p in trained(self.trainer.model).items()}
            self.recorder.left = self.trainer.state.global_step + 1, weights
            self.recorder.counted = self._expected_counts()
        rollout = self.recorder.rollout
        if rollout is None:
            return
        rollout.seconds["optimizer"] += time.perf_counter()
        with self.recorder.timed("record"):
            update, rollout.update = rollout.update, Update()
            was_skipped = getattr(self.trainer.accelerator, "optimizer_step_was_skipped", False)
            if not was_skipped:
                update.facts |= self._changed_shares() | self._descent() | self._resumed()
            if rollout.update_audit is not None:
                with self.recorder.timed("audit"):
                    rollout.update_audit.updated(was_skipped)
            configured = getattr(self.trainer, "current_gradient_accumulation_steps", None)
            update.facts["microBatches"] = {
                "executed": len(update.losses),
                "configured": int(configured or self.trainer.args.gradient_accumulation_steps),
            }
            update.facts["loss"] = float(torch.stack(update.losses).sum())
            rollout.updates.append(update)

    def _expected_counts(self) -> dict[str, float]:
        """The updates that the optimizer should have counted by now: one more than before, of what has a gradient."""
        before, parameters = self.recorder.counted, trained(self.trainer.model)
        skipped = getattr(self.trainer.accelerator, "optimizer_step_was_skipped", False)
        return {
            name: before[name] + (parameters[name].grad is not None and not skipped) if name in before else count
            for name, count in counts_of(self.trainer).items()
        }

    def _sampled_weights(self) -> list[tuple[int, torch.Tensor]]:
        """Size and sample of each trained weight."""
        return [(p.numel(), sample_of(p)) for p in trained(self.trainer.model).values()]

    def _descent(self) -> dict:
        """The cosine between the update and the negative gradient, and the root mean squares of the update and of the weights
        that have a gradient, of the samples."""
        product = of_update = of_gradient = of_weights = 0.0
        count = 0
        for (_, old), (_, new), gradient in zip(self.weights, self._sampled_weights(), self.gradients, strict=True):
            if gradient is None:
                continue
            with_slope = gradient != 0
            change, slope = (new.double() - old.double())[with_slope], gradient.double()[with_slope]
            of_weights += float((old.double()[with_slope] ** 2).sum())
            count += int(with_slope.sum())
            product += float((change * slope).sum())
            of_update += float((change * change).sum())
            of_gradient += float((slope * slope).sum())
        size = (of_update * of_gradient) ** 0.5
        if not 0 < size < float("inf"):
            return {}
        moved = {"moved": (of_update / count) ** 0.5, "size": (of_weights / count) ** 0.5}
        return {"descent": -product / size, **moved}

    def _resumed(self) -> dict:
        """At the first update after a checkpoint: how many were made before, and how many the optimizer had counted."""
        if self.began == 0 or self.trainer.state.global_step != self.began:
            return {}
        counted = [int(state["step"]) for state in self.trainer.optimizer.state.values() if "step" in state]
        return {"resumed": {"made": self.began, "counted": max(counted) - 1}} if counted else {}

    def _changed_shares(self) -> dict:
        """Shares of the weights that the update changed, estimated from the samples."""
        sizes = [size for size, _ in self.weights]
        if not sizes:
            return {}
        pairs = zip(self.weights, self._sampled_weights(), strict=True)
        share = sum(size * float((old != new).float().mean()) for (size, old), (_, new) in pairs) / sum(sizes)
        masters = precision(self.trainer).get("masterWeights")
        if masters is None:
            return {"changedWeightShare": share}
        return {"changedShare": share} if masters else {"changedShare": share, "changedWeightShare": share}


def gradients_that_may_be(model) -> list:
    """Gradients of the trained tensors; a first matrix of an adapter has none as long as its second one is 0."""
    trainable = {name: p for name, p in model.named_parameters() if p.requires_grad}

    def is_idle(name: str) -> bool:
        second = trainable.get(name.replace("lora_A", "lora_B"))
        return "lora_A" in name and second is not None and not second.any()

    return [p.grad for name, p in trainable.items() if not is_idle(name)]
