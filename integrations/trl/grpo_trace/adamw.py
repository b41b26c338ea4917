"""The optimizer's update, computed again on sampled elements of every tensor."""

from __future__ import annotations

import math

import torch
import transformers

from .declared import is_sharded
from .sampled import sample_of, trained

# Roundings of an element's update and of its moments: measured at most 37.
ROUNDINGS = 256
HANDLED = ("adamw_torch", "adamw_torch_fused")


class Update:
    def __init__(self, audit):
        """Before clipping."""
        self.audit = audit
        self.trainer = audit.trainer
        self.parameters = trained(self.trainer.model)
        gradients = {name: p.grad for name, p in self.parameters.items() if p.grad is not None}
        self.unclipped = {name: sample_of(gradient) for name, gradient in gradients.items()}
        self.norm = math.sqrt(sum(float(gradient.float().norm()) ** 2 for gradient in gradients.values()))
        self.before_step = None

    def before(self, norm: float | None) -> None:
        """After clipping, before the optimizer."""
        args = self.trainer.args
        compare = self.audit.compare
        clipped = {name: sample_of(p.grad) for name, p in self.parameters.items() if p.grad is not None}
        self.lack = self._lack()
        if is_sharded(self.trainer) or not clipped:
            self.lack = self.lack or "gradients"
            return
        if norm is not None:
            bound = ROUNDINGS * max(map(_eps, clipped.values())) * self.norm
            compare("update", "norm of the gradient", [{"found": norm, "plain": self.norm, "bound": bound}])
        limit = args.max_grad_norm
        share = min(1.0, limit / (self.norm + 1e-6)) if limit else 1.0
        pairs = [
            _worst(found, before * share, ROUNDINGS * _eps(found) * before.double().abs(), name)
            for name, found, before in ((name, own, self.unclipped.get(name)) for name, own in clipped.items())
            if before is not None
        ]
        compare("update", "clipped gradient", pairs)
        if self.lack:
            return
        state = self.trainer.optimizer.state
        # The state may have been cleared or replaced since the last update.
        left = self.audit.recorder.counted
        self.before_step = {}
        for name, p in self.parameters.items():
            own = state.get(p, {})
            step = float(own.get("step", 0.0))
            self.before_step[name] = {
                "weight": sample_of(p),
                "gradient": clipped.get(name),
                "step": step,
                "counted": left.get(name, step),
                **{key: sample_of(own[key]) for key in ("exp_avg", "exp_avg_sq") if key in own},
            }
        self.settings = self._settings()

    def _lack(self) -> str | None:
        args = self.trainer.args
        kind = getattr(args.optim, "value", args.optim)
        if is_sharded(self.trainer):
            return "whole weights, which are sharded"
        if self.audit.recorder.optimizer_is_own or "create_optimizer" in self.audit.recorder.overridden:
            return "declared settings of the optimizer: it is the user's own"
        if kind not in HANDLED or args.optim_args:
            return f"a plain form of the optimizer {kind}"
        return None

    def _settings(self) -> dict:
        """Rate and decay of each tensor, as declared."""
        trainer, args = self.trainer, self.trainer.args
        groups = {id(p): group for group in trainer.optimizer.param_groups for p in group["params"]}
        held = [name for name, p in self.parameters.items() if id(p) in groups]
        compare = self.audit.compare
        states = {name: "trained" if name in held else "missing" for name in self.parameters}
        pairs = [
            {"found": state, "plain": "trained", "deviation": float(state != "trained"), "bound": 0.0, "tensor": name}
            for name, state in states.items()
        ]
        compare("update", "tensor of the optimizer", pairs)
        own = self.audit.recorder.schedule_is_own or "create_scheduler" in self.audit.recorder.overridden
        rate = None if own else declared_rate(args, trainer.state)
        if rate is None:
            self.audit.lacks("update", "a declared rate: the schedule is the user's own, or follows a metric")
        else:
            rates = {float(group["lr"]) for group in trainer.optimizer.param_groups}
            pairs = [{"found": found, "plain": rate, "bound": 1e-6 * abs(rate)} for found in rates]
            # A schedule at another step than the run explains rates that are others.
            taken, made = getattr(trainer.lr_scheduler, "last_epoch", None), trainer.state.global_step
            if isinstance(taken, int) and any(abs(one["found"] - rate) > one["bound"] for one in pairs):
                compare("update", "step of the schedule", [{"found": taken, "plain": made, "bound": 0.0}])
            compare("update", "learning rate", pairs)
        decays = set(transformers.Trainer.get_decay_parameter_names(trainer, trainer.model))
        return {
            name: (
                float(groups[id(self.parameters[name])]["lr"]) if rate is None else rate,
                args.weight_decay if name in decays else 0.0,
            )
            for name in held
        }

    def after(self, was_skipped: bool) -> None:
        audit = self.audit
        if self.lack or was_skipped or self.before_step is None:
            audit.lacks("update", self.lack or "an update: the scaler skipped it")
            return
        state = self.trainer.optimizer.state
        weights, firsts, seconds, steps = [], [], [], []
        for name, (rate, decay) in self.settings.items():
            p, old = self.parameters[name], self.before_step[name]
            if old["gradient"] is None:
                continue
            plain = self._plain(old, rate, decay)
            # Three roundings of the weight: of the share that decay leaves, of what it leaves, of the sum. The parts of the
            # moment round by their own size, also where they cancel out.
            bound = _eps(p) * (1.5 * plain["weight"].abs() + ROUNDINGS * plain["step size"])
            weights.append(_worst(sample_of(p), plain["weight"], bound, name))
            for key, pairs, size in (("exp_avg", firsts, "first size"), ("exp_avg_sq", seconds, "second size")):
                # Numbers below 1e-37 lose digits, or are 0.
                bound = ROUNDINGS * _eps(state[p][key]) * plain[size] + 1e-37
                pairs.append(_worst(sample_of(state[p][key]), plain[key], bound, name))
            steps.append({"found": float(state[p]["step"]), "plain": old["counted"] + 1, "bound": 0.0, "tensor": name})
        audit.compare("update", "weight after the update", weights)
        audit.compare("update", "first moment (mean of the gradients)", firsts)
        audit.compare("update", "second moment (mean of the squared gradients)", seconds)
        audit.compare("update", "number of updates that the optimizer counts", steps)

    def _plain(self, old: dict, rate: float, decay: float) -> dict:
        args = self.trainer.args
        beta1, beta2 = args.adam_beta1, args.adam_beta2
        weight, gradient = old["weight"].double(), old["gradient"].double()
        first, second = (
            old[key].double() if key in old else torch.zeros_like(gradient) for key in ("exp_avg", "exp_avg_sq")
        )
        step = old["step"] + 1
        exp_avg = beta1 * first + (1 - beta1) * gradient
        exp_avg_sq = beta2 * second + (1 - beta2) * gradient**2
        root = (exp_avg_sq / (1 - beta2**step)).sqrt() + args.adam_epsilon
        return {
            "weight": weight * (1 - rate * decay) - rate * exp_avg / (1 - beta1**step) / root,
            "exp_avg": exp_avg,
            "exp_avg_sq": exp_avg_sq,
            "step size": rate * (beta1 * first.abs() + (1 - beta1) * gradient.abs()) / (1 - beta1**step) / root
            + rate * decay * weight.abs(),
            "first size": first.abs() + gradient.abs(),
            "second size": second + gradient**2,
        }


def declared_rate(args, state) -> float | None:
    """The rate of this step: of a schedule made anew from the arguments; None where they do not say it."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=args.learning_rate)
    schedule = transformers.get_scheduler(
        args.lr_scheduler_type,
        optimizer=optimizer,
        num_warmup_steps=args.get_warmup_steps(state.max_steps),
        num_training_steps=state.max_steps,
        scheduler_specific_kwargs=args.lr_scheduler_kwargs,
    )
    if not isinstance(schedule, torch.optim.lr_scheduler.LambdaLR):
        return None
    return args.learning_rate * schedule.lr_lambdas[0](state.global_step)


def _worst(found: torch.Tensor, plain: torch.Tensor, bound: torch.Tensor, name: str) -> dict:
    """The element of a tensor that lies furthest apart, by its own bound."""
    found, plain = found.double(), plain.double()
    apart = (found - plain).abs()
    ratio = torch.where(apart == 0, 0.0, apart / bound).nan_to_num(nan=math.inf, posinf=math.inf)
    i = int(ratio.argmax())
    values = {"found": found[i], "plain": plain[i], "deviation": apart[i], "bound": bound[i]}
    return {key: float(value) for key, value in values.items()} | {"tensor": name}


def _eps(tensor: torch.Tensor) -> float:
    return torch.finfo(tensor.dtype).eps
