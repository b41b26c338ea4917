"""Listens to the rewards of a rollout."""

from __future__ import annotations

import numpy as np
import trl

from .errors import RecorderError
from .graded import text_of
from .grading import Grading
from .probes import random_state
from .rollout import Rollout


class RewardListener:
    def __init__(self, recorder):
        self.recorder = recorder
        self.trainer = recorder.trainer
        self.grading = Grading()
        # The random numbers after the rewards of the rollout that was recorded before.
        self.left = None

    @property
    def functions(self) -> list:
        """As the user gave them."""
        return [one.function for one in self.grading.heard]

    def on_calculate_rewards(self, original, inputs, prompts, completions, *args, **kwargs):
        rollout = self.recorder.recording
        if rollout is None:
            return original(inputs, prompts, completions, *args, **kwargs)
        before = random_state(self.trainer.accelerator.device)
        with self.recorder.timed("reward"), self.grading.hearing():
            values = original(inputs, prompts, completions, *args, **kwargs)
        with self.recorder.aside():
            after = random_state(self.trainer.accelerator.device)
            if self.left is not None:
                rollout.probes.setdefault("reseeded", after != before and after == self.left)
            self.left = after
            rollout.probes["unfilled"] = self.grading.unfilled()
            # Completions that the reward functions saw; those of the method where none was called.
            seen = self.grading.completions(len(prompts)) or completions
            rollout.texts += [text_of(completion) for completion in seen]
            rollout.input_type = "text" if isinstance(seen[0], str) else "messages"
            # Rewards of all processes: those of the first one, which records, come first.
            rewards = values[: len(prompts)].detach().double().cpu().numpy()
            weighted = rewards * self.trainer.reward_weights.double().cpu().numpy()
            rollout.rewards.append(rewards)
            rollout.totals.append(np.where(np.isnan(rewards).all(1), np.nan, np.nansum(weighted, 1)))
        return values

    def check_totals(self, rollout: Rollout) -> None:
        """Our weighted sums must have the mean that TRL logged."""
        logged = getattr(self.trainer, "_metrics", {}).get("train", {}).get("reward")
        if not logged or not rollout.totals or self.trainer.accelerator.num_processes > 1:
            return
        mean = float(np.nanmean(rollout.totals[-1]))
        if abs(mean - logged[-1]) > 1e-4 * max(1, abs(mean)):
            raise RecorderError(
                f"the weighted sums of the rewards have mean {mean}, and TRL {trl.__version__} logs {logged[-1]}: "
                "this trainer sums them in another way, and records would be wrong"
            )
