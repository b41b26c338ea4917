"""Listens to generation: ids, texts and log-probs as they were sampled."""

from __future__ import annotations

import math

import trl

from .declared import SAMPLING, sampler_temperature, sampling
from .errors import RecorderError
from .sampler_spy import SamplerSpy


class GenerationListener:
    def __init__(self, recorder):
        self.recorder = recorder
        self.trainer = recorder.trainer
        # Turns of the current generation: prompt ids, ids and log-probs, with the spy on the sampler.
        self.turns = None
        # The current turn as TRL's own method returned it, within an override.
        self.turn = None

    def on_generate(self, original, prompts, *args, **kwargs):
        rollout = self.recorder.recording
        if rollout is None:
            return original(prompts, *args, **kwargs)
        self.turns = []
        with self.recorder.timed("sample"):
            output = original(prompts, *args, **kwargs)
        turns, self.turns = self.turns, None
        with self.recorder.aside():
            self._take(rollout, prompts, output, turns)
        return output

    def _take(self, rollout, prompts, output, turns) -> None:
        prompt_ids, ids, tool_mask, completions = output[:4]
        lists = [prompt_ids, ids] if tool_mask is None else [prompt_ids, ids, tool_mask]
        if not all(isinstance(rows, list) and len(rows) == len(prompts) for rows in lists):
            raise RecorderError(
                f"_generate of TRL {trl.__version__} does not return lists of prompt ids, completion ids and tool masks"
            )
        if tool_mask is None and len(turns) == 1:
            # The ids as they left the sampler, before anything was done to them.
            prompt_ids, ids, logprobs, spy = turns[0]
            if spy.heard:
                plain, drawn = spy.rows(ids)
                rollout.plain += plain
                rollout.drawn += drawn
                rollout.processors, rollout.stops = spy.processors, spy.stops
            elif logprobs is not None:
                drawn = [[math.nan if value is None else value for value in row] for row in logprobs]
                rollout.drawn += drawn
                neutral = all(sampling(self.trainer).get(ours) == off for ours, _, off in SAMPLING)
                rollout.plain += drawn if neutral else []
        rollout.prompt_ids += [list(map(int, row)) for row in prompt_ids]
        rollout.ids += [list(map(int, row)) for row in ids]
        mask = [[1] * len(row) for row in ids] if tool_mask is None else tool_mask
        rollout.sources += [[1 - value for value in row] for row in mask]
        rollout.sampled += completions

    def on_generate_single_turn(self, original, prompt_ids, *args, **kwargs):
        if self.recorder.recording is None or self.turns is None:
            return original(prompt_ids, *args, **kwargs)
        self.turn = None
        model = self.trainer.accelerator.unwrap_model(self.trainer.model)
        spy = SamplerSpy(sampler_temperature(self.trainer))
        with spy.within(model.get_base_model() if hasattr(model, "get_base_model") else model):
            output = original(prompt_ids, *args, **kwargs)
        # TRL's own ids, where an override calls TRL's method; else those of the override.
        inner, self.turn = self.turn, None
        self.turns.append((*(inner or (prompt_ids, *output[:2])), spy))
        return output

    def within_generate_single_turn(self, original, prompt_ids, *args, **kwargs):
        output = original(prompt_ids, *args, **kwargs)
        self.turn = (prompt_ids, *output[:2])
        return output
