"""The audit of a rollout: its first micro-batch and first update, computed again on the side.

It reads what the run has and puts nothing back: gradients are taken beside those of the trainer.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
import torch

from .adamw import Update
from .declared import declared_loss, is_sharded, precision, sampler_temperature, tokenizer_of
from .grading import grade_again
from .off import off_of
from .plain import PlainRow, PlainScore, Rounding, evaluating, rounding_of, score
from .rollout import Rollout
from .sampled import sample_of, trained

# Name of the comparison that says with what sign the entropy is in the gradient.
ENTROPY_SHARE = "share of the entropy in the gradient"
# Rounding of numbers that TRL keeps in float32.
EPS = torch.finfo(torch.float32).eps
# Logits are hardly larger: rounding of log-probs grows with them.
LOGITS = 32
# Hand-overs that a forward and backward pass is needed for.
SCORED = ("completion", "old log-probs", "loss", "gradient")
NEVER = {
    "checkpoint": "a checkpoint read back: TRL's own are not opened",
    "run": "the order of the data, which TRL's sampler does not hand out",
}


class Audit:
    def __init__(self, recorder, is_whole: bool):
        """is_whole: whether all is compared, or only what needs no pass of the model."""
        self.recorder = recorder
        self.is_whole = is_whole
        self.trainer = recorder.trainer
        # As declared when training began: the trainer's own may have been changed since.
        self.temperature = recorder.began["temperature"]
        self.loss = None
        self.rounding = None
        self.completions = []
        self.comparisons = []
        self.missing = [{"handOver": name, "what": what} for name, what in NEVER.items()] if is_whole else []
        self.update = None

    @property
    def record(self) -> dict:
        return {"completions": self.completions, "comparisons": self.comparisons, "missing": self.missing}

    # ---- what is written ---------------------------------------------------------------------------------------------

    def compare(self, hand_over: str, quantity: str, pairs: list[dict]) -> None:
        """Adds one comparison for many pairs: the pair that lies furthest apart, measured by its bound."""
        if not pairs:
            return
        for pair in pairs:
            if "deviation" not in pair:
                pair["deviation"] = abs(pair["found"] - pair["plain"])
        worst = max(pairs, key=_distance_in_bounds)
        told = {"handOver": hand_over, "quantity": quantity, "compared": len(pairs), **worst}
        self.comparisons.append(told | off_of(pairs))

    def lacks(self, hand_over: str, what: str) -> None:
        self.missing.append({"handOver": hand_over, "what": what})

    def warn(self, step: int) -> None:
        """Says each comparison that does not hold."""
        names = ", ".join(f"{name} of {owner}" for name, owner in self.recorder.overridden.items())
        overrides = f" (overridden: {names})" if names else ""
        for one in self.comparisons:
            if not one["deviation"] <= one["bound"]:
                of = f" of {one['tensor']}" if "tensor" in one else ""
                warnings.warn(
                    f"grpo_trace, step {step}: {one['handOver']}: the {one['quantity']}{of} is {one['found']}; "
                    f"computed again it is {one['plain']}{overrides}",
                    stacklevel=2,
                )

    def weights_between(self, left: dict) -> None:
        """Compares weights as a step finds them with those that the update before left, by samples; NaN equals itself."""
        pairs = []
        for name, p in trained(self.trainer.model).items():
            if name in left and p.numel() > 0:
                own, before = sample_of(p).double().nan_to_num(), left[name].double().nan_to_num()
                i = int((own - before).abs().nan_to_num(nan=math.inf).argmax())
                pairs.append({"found": float(own[i]), "plain": float(before[i]), "bound": 0.0, "tensor": name})
        self.compare("weights", "weight that the step before left", pairs)

    # ---- the first micro-batch ---------------------------------------------------------------------------------------

    def micro_batch(self, rollout: Rollout) -> None:
        """After its backward pass: the weights are those that sampled, the gradients are its own."""
        self.prompt_of = [row // self.trainer.num_generations for row in range(len(rollout.data))]
        self.rows = rollout.update.rows
        self.completions = sorted(self.rows)
        self._prompts(rollout)
        self._rewards(rollout)
        self._advantages(rollout)
        if not self.is_whole:
            self._recorded_loss(rollout)
            return
        self._reference_weights()
        lack = self._lack(rollout)
        if lack is not None:
            for hand_over in SCORED:
                self.lacks(hand_over, lack)
            return
        try:
            self._scores(rollout)
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
            for hand_over in SCORED:
                self.lacks(hand_over, "memory for a forward and backward pass beside the trainer's")

    def _lack(self, rollout: Rollout) -> str | None:
        """Why nothing can be scored on the side."""
        trainer = self.trainer
        if trainer.accelerator.num_processes > 1:
            return "a pass of one process alone, for which the others would wait"
        if is_sharded(trainer):
            return "whole weights, which are sharded"
        if not rollout.ids or any(row is None for row in rollout.update.logprobs) or not rollout.update.logprobs:
            return "ids as sampled, and log-probs of the policy"
        if rollout.dropout:
            return f"numbers that are the same twice: dropout is active in {len(rollout.dropout)} modules"
        if any("image" in key or "pixel" in key for key in rollout.data[0]):
            return "a plain form of prompts with images"
        return None

    def _prompts(self, rollout: Rollout) -> None:
        trainer = self.trainer
        if not rollout.prompt_ids or getattr(trainer, "environments", None) or getattr(trainer, "tools", None):
            self.lacks("prompt", "prompts as sampled from, without tools and environments")
            return
        pairs, spelt = [], []
        for row in sorted({self.rows[0], self.rows[-1]}):
            prompt = rollout.data[row]["prompt"]
            if isinstance(prompt, str):
                rendered, plain = prompt, trainer.processing_class(text=prompt)["input_ids"]
            else:
                rendered, plain = self._rendered(prompt, tokenize=False), self._rendered(prompt)["input_ids"]
            plain = plain[0] if plain and isinstance(plain[0], list) else plain
            found = rollout.prompt_ids[row]
            texts = [tokenizer_of(trainer).decode(ids) for ids in (found, plain)]
            pairs.append(
                {
                    "found": texts[0] if texts[0] != texts[1] else str(found),
                    "plain": texts[1] if texts[0] != texts[1] else str(plain),
                    "deviation": float(found != plain),
                    "bound": 0.0,
                    "prompt": self.prompt_of[row],
                }
            )
            spelt.append(
                {
                    "found": texts[0],
                    "plain": rendered,
                    # What a normalizer changes is its own affair; a tokenizer of another family leaves out the space.
                    "deviation": float(2 * sum(map(str.isspace, texts[0])) < sum(map(str.isspace, rendered.strip()))),
                    "bound": 0.0,
                    "prompt": self.prompt_of[row],
                }
            )
        self.compare("prompt", "text of the prompt's ids", pairs)
        self.compare("prompt", "white space that the prompt's ids spell", spelt)

    def _rendered(self, prompt: list, tokenize=True):
        """A conversation by the template, as its ids or as text."""
        trainer = self.trainer
        return trainer.processing_class.apply_chat_template(
            prompt,
            chat_template=getattr(trainer, "chat_template", None),
            add_generation_prompt=prompt[-1]["role"] != "assistant",
            continue_final_message=prompt[-1]["role"] == "assistant",
            tokenize=tokenize,
            **({"return_dict": True} if tokenize else {}),
            **(getattr(trainer, "chat_template_kwargs", None) or {}),
        )

    def _rewards(self, rollout: Rollout) -> None:
        if not rollout.rewards:
            self.lacks("reward", "rewards")
            return
        names = list(self.trainer.reward_func_names)
        pairs, missing = grade_again(self.trainer, self.recorder.rewards.grading, rollout, names, self.prompt_of)
        for quantity, own in pairs.items():
            self.compare("reward", quantity, own)
        for what in missing:
            self.lacks("reward", what)

    def _advantages(self, rollout: Rollout) -> None:
        """Compares the advantages in the loss with those computed from the rewards."""
        trainer = self.trainer
        scale = {True: "group", False: "none"}.get(scale := getattr(trainer, "scale_rewards", None), scale)
        summed = getattr(trainer, "multi_objective_aggregation", "sum_then_normalize") == "sum_then_normalize"
        given = [rollout.scored[row].advantage for row in self.rows]
        if not rollout.totals or not summed or trainer.accelerator.num_processes > 1 or isinstance(given[0], list):
            self.lacks("advantage", "a plain form of these advantages: one per completion, from sums of rewards")
            return
        totals = rollout.totals[-1].reshape(-1, trainer.num_generations)
        pairs = []
        for row, found in zip(self.rows, given, strict=True):
            group = totals[row // trainer.num_generations]
            own = totals.flatten()[row]
            spread = totals if scale == "batch" else group
            few = np.count_nonzero(~np.isnan(spread)) < 2
            deviation = math.nan if few else float(np.nanstd(spread, ddof=1))
            divisor = 1.0 if scale == "none" else deviation + 1e-4
            plain = 0.0 if np.isnan(own) or math.isnan(divisor) else float(own - np.nanmean(group)) / divisor
            # Sums of a group's rewards in float32, and what their rounding does to a deviation near 0.
            largest = float(np.nanmax(np.abs(spread))) if not np.isnan(spread).all() else 0.0
            off = 4 * EPS * largest * np.sqrt(spread.size) / (1.0 if scale == "none" else abs(divisor))
            bound = float(off * (1 + abs(plain))) + EPS * abs(plain)
            place = {"completion": row, "prompt": self.prompt_of[row]}
            pairs.append({"found": found, "plain": plain, "bound": bound, **place})
        self.compare("advantage", "advantage", pairs)

    def _reference_weights(self) -> None:
        if not self.trainer.beta:
            return
        now, before = reference_sum(self.trainer), self.recorder.reference
        if now is None or before is None or getattr(self.trainer.args, "sync_ref_model", False):
            self.lacks("weights", "a reference of its own that stays as it is")
            return
        self.compare("weights", "sum of the reference's weights", [{"found": now, "plain": before, "bound": 0.0}])

    # ---- log-probs and gradient --------------------------------------------------------------------------------------

    def _scores(self, rollout: Rollout) -> None:
        trainer = self.trainer
        model = trainer.accelerator.unwrap_model(trainer.model)
        reference = getattr(trainer, "ref_model", None)
        own = {row: self._plain_row(rollout, row) for row in range(len(rollout.data))}
        self.rounding = _rounding(trainer, max(len(one.prompt) + len(one.ids) for one in own.values()))
        form, lack = declared_loss(trainer, len(self.rows), sum(sum(one.mask) for one in own.values()))
        masks = [
            {"found": found, "plain": plain, "bound": 0.0, "completion": row, "token": t}
            for row in self.rows
            for t, (found, plain) in enumerate(zip(rollout.scored[row].mask, own[row].mask))
        ]
        self.compare("loss", "mask of a token", masks)
        parameters = trained(model)
        found = None if lack else {name: p.grad for name, p in parameters.items()}
        plain, entropy = Gradient(parameters), Gradient(parameters)
        batch_tokens = sum(sum(own[row].mask) for row in self.rows)
        pairs = {"sampler": [], "policy": [], "old": [], "reference": []}
        loss = loss_bound = 0.0
        with evaluating(model, reference):
            for i, row in enumerate(self.rows):
                one = own[row]
                place = {"completion": row, "prompt": self.prompt_of[row]}
                other = self._reference_score(model, reference, one)
                learns = found is not None and (one.advantage != 0 or form.beta or form.entropy) and any(one.mask)
                with torch.set_grad_enabled(bool(learns)):
                    own_score = self._score(model, one)
                logprobs = own_score.logprobs
                if rollout.plain and sampler_temperature(trainer) == self.temperature:
                    pairs["sampler"] += _tokens(rollout.plain[row], own_score, None, place)
                pairs["policy"] += _tokens(rollout.update.logprobs[i], own_score, one.mask, place)
                pairs["old"] += _tokens(rollout.scored[row].old, own_score, one.mask, place)
                pairs["reference"] += _tokens(rollout.scored[row].reference, other, one.mask, place)
                if found is None:
                    continue
                mask = torch.tensor(one.mask, device=logprobs.device, dtype=logprobs.dtype)
                weight = form.weight(sum(one.mask), batch_tokens)
                terms = form.terms(logprobs, mask, one.advantage, other and other.logprobs) * mask
                loss += weight * float(terms.detach().sum())
                loss_bound += weight * float((terms.detach().abs() + abs(one.advantage)).sum()) * own_score.bound
                bonus = form.entropy_weight(batch_tokens) * (own_score.entropies * mask).sum()
                loss -= form.entropy * float(bonus.detach())
                loss_bound += abs(form.entropy) * 2 * (float(bonus.detach()) + 1) * own_score.bound
                if learns and form.entropy:
                    entropy.add(bonus, retain_graph=True)
                if learns:
                    plain.add(weight * terms.sum() - form.entropy * bonus)
        for name, quantity, hand_over in (
            ("sampler", "log-prob of the sampler", "completion"),
            ("policy", "log-prob of the policy", "old log-probs"),
            ("old", "old log-prob", "old log-probs"),
            ("reference", "log-prob of the reference", "old log-probs"),
        ):
            self.compare(hand_over, quantity, pairs[name])
        if not pairs["sampler"]:
            self.lacks("completion", "log-probs of the sampler, at the temperature of the loss")
        if found is None:
            self.lacks("loss", lack)
            self.lacks("gradient", lack)
            return
        self.compare("loss", "loss", [{"found": self.loss, "plain": loss, "bound": loss_bound + EPS * abs(loss)}])
        norms, distances = plain.pairs(found, self.rounding)
        self.compare("gradient", "norm of the gradient", norms)
        self.compare("gradient", "distance to the plain gradient", distances)
        if form.entropy:
            self.compare("gradient", ENTROPY_SHARE, [plain.share_of(entropy, -form.entropy, found, self.rounding)])

    def _recorded_loss(self, rollout: Rollout) -> None:
        """Compares the loss with the declared one of the log-probs that it was given, which takes no pass of the model."""
        trainer, given = self.trainer, rollout.update.logprobs
        own = {row: self._plain_row(rollout, row) for row in range(len(rollout.data))}
        form, lack = declared_loss(trainer, len(self.rows), sum(sum(one.mask) for one in own.values()))
        isolated = trainer.accelerator.num_processes == 1 and not is_sharded(trainer)
        rows = [own[row] for row in self.rows]
        references = [rollout.scored[row].reference for row in self.rows]
        if lack or form.entropy or not isolated or self.loss is None or None in given or len(given) != len(rows):
            return
        if form.beta and None in references:
            return
        batch_tokens = sum(sum(one.mask) for one in rows)
        loss = size = 0.0
        for one, logprobs, reference in zip(rows, given, references, strict=True):
            mask, logprobs = torch.tensor(one.mask, dtype=torch.float64), torch.tensor(logprobs, dtype=torch.float64)
            if len(logprobs) != len(mask):
                return
            other = torch.tensor(reference, dtype=torch.float64) if form.beta else None
            terms = form.weight(sum(one.mask), batch_tokens) * form.terms(logprobs, mask, one.advantage, other) * mask
            loss += float(terms.sum())
            size += float((terms.abs() + form.weight(sum(one.mask), batch_tokens) * abs(one.advantage) * mask).sum())
        rounding = _rounding(trainer, max(len(one.prompt) + len(one.ids) for one in rows))
        bound = LOGITS * rounding.logprob * size + EPS * abs(loss)
        self.compare("loss", "loss of the recorded log-probs", [{"found": self.loss, "plain": loss, "bound": bound}])

    def _plain_row(self, rollout: Rollout, row: int) -> PlainRow:
        """A completion as sampled, with the mask that the settings declare, not that of the loss."""
        trainer, ids = self.trainer, rollout.ids[row]
        tokenizer = tokenizer_of(trainer)
        cut = not ids or ids[-1] not in (tokenizer.eos_token_id, tokenizer.pad_token_id)
        left_out = getattr(trainer, "mask_truncated_completions", False) and cut
        mask = [0 if left_out or source else 1 for source in rollout.sources[row]]
        advantage = rollout.scored[row].advantage if row in rollout.scored else 0.0
        return PlainRow(rollout.prompt_ids[row], ids, mask, advantage)

    def _score(self, model, one: PlainRow) -> PlainScore:
        return score(model, one.prompt, one.ids, self.temperature, self.rounding)

    def _reference_score(self, model, reference, one: PlainRow) -> PlainScore | None:
        if not self.trainer.beta:
            return None
        with torch.no_grad():
            if reference is not None:
                return self._score(reference, one)
            with model.disable_adapter():
                return self._score(model, one)

    # ---- the update --------------------------------------------------------------------------------------------------

    def before_clipping(self) -> None:
        self.update = Update(self)

    def before_update(self, norm: float | None) -> None:
        self.update = self.update or Update(self)
        self.update.before(norm)

    def updated(self, was_skipped: bool) -> None:
        self.update.after(was_skipped)


class Gradient:
    """The plain gradient, summed completion by completion beside that of the trainer."""

    def __init__(self, parameters: dict):
        self.parameters = parameters
        self.sums = dict.fromkeys(parameters)
        self.sizes = dict.fromkeys(parameters, 0.0)

    def add(self, loss: torch.Tensor, retain_graph=False) -> None:
        parameters = list(self.parameters.values())
        # Adapters that were loaded for inference leave nothing to train.
        if not parameters:
            return
        gradients = torch.autograd.grad(loss, parameters, allow_unused=True, retain_graph=retain_graph)
        for name, gradient in zip(self.parameters, gradients, strict=True):
            if gradient is not None:
                self.sizes[name] += float(gradient.float().norm())
                self.sums[name] = gradient if self.sums[name] is None else self.sums[name] + gradient

    def pairs(self, found: dict, rounding: Rounding) -> tuple[list[dict], list[dict]]:
        """Norms of both gradients, and of their difference, by tensor. Completions cancel out: what they add up to is
        smaller than what each of them adds, and rounds."""
        total = math.sqrt(sum(size**2 for size in self.sizes.values()))
        norms, distances = [], []
        for name, parameter in self.parameters.items():
            own, plain = (torch.zeros_like(parameter) if g is None else g for g in (found[name], self.sums[name]))
            # A gradient that is 0 by nature, as that of a bias of keys, is rounding of the others.
            bound = rounding.gradient * (self.sizes[name] + total / math.sqrt(len(self.parameters)))
            place = {"bound": bound, "tensor": name}
            norms.append({"found": float(own.float().norm()), "plain": float(plain.float().norm()), **place})
            distances.append({"found": float((own.float() - plain.float()).norm()), "plain": 0.0, **place})
        return norms, distances


    def share_of(self, part: Gradient, share: float, found: dict, rounding: Rounding) -> dict:
        """What a part, which is `share` times in this gradient, is in the one that was found."""
        apart = squares = 0.0
        for name, own in part.sums.items():
            if own is not None:
                squares += float((own.float() ** 2).sum())
                given = 0 if found[name] is None else found[name].float()
                apart += float(((given - self.sums[name].float()) * own.float()).sum())
        total = math.sqrt(sum(size**2 for size in self.sizes.values()))
        length = math.sqrt(squares) or 1.0
        return {"found": share + apart / length**2, "plain": share, "bound": rounding.gradient * total / length}


def _rounding(trainer, positions: int) -> Rounding:
    model = trainer.accelerator.unwrap_model(trainer.model)
    layers = getattr(model.config.get_text_config(), "num_hidden_layers", None) or 1
    return rounding_of(getattr(torch, precision(trainer)["dtype"]), layers, positions)


def reference_sum(trainer) -> float | None:
    """Sum of the reference's weights, where it is a model of its own in one piece."""
    reference = getattr(trainer, "ref_model", None)
    if reference is None or trainer.accelerator.num_processes > 1:
        return None
    return sum_of(reference)


def sum_of(model) -> float:
    return sum(float(p.detach().double().sum()) for p in model.parameters())


def _tokens(found: list | None, plain, mask: list | None, place: dict) -> list[dict]:
    if found is None or plain is None:
        return []
    values = plain.logprobs.detach().tolist()
    return [
        {"found": own, "plain": value, "bound": plain.bound, **place, "token": t}
        for t, (own, value) in enumerate(zip(found, values))
        if mask is None or mask[t]
    ]


def _distance_in_bounds(pair: dict) -> float:
    deviation, bound = pair["deviation"], pair["bound"]
    if math.isnan(deviation):
        return math.inf
    return deviation / bound if bound > 0 else math.inf if deviation > 0 else 0.0
