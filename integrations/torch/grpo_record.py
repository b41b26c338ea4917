"""Step records of any PyTorch loop, for `grpo doctor` and `grpo step`. Needs torch and safetensors.

    with grpo_record.step("out", 1, tokenizer=tokenizer, declared={"rollout": {"group": 4, "temperature": 1.0}}) as s:
        s.prompts(prompt_ids, prompt_mask, texts=texts, answers=answers)
        s.completions(completion_ids, completion_mask, texts=completion_texts, logprobs=sampler_logprobs)
        s.rewards({"right": rewards})
        s.advantages(advantages)
        s.scored(loss_mask, reference=reference_logprobs)
        s.audit(policy, reference=reference)
        s.update(loss, policy_logprobs, grad_norm=norm, learning_rate=rate)

Tensors are padded as the loop has them, on any device, with a mask that is 1 where a token is one of the row; packing is
done here. What a loop does not have it leaves out: a check that needs it then says so. docs/step-record.md tells what each
number means, and the keys of `declared`.
"""

from __future__ import annotations

import json
import math
import os
import unicodedata
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors.torch import save

VERSION = 3
# Completions that an audit computes again.
AUDITED = 4
# Elements of each weight that are compared.
SAMPLED_ELEMENTS = 4096
# Directions along which a gradient is measured, and how far the weights are moved, as a share of their own size.
DIRECTIONS, MOVE = 4, 1e-3
# Completions of more tokens, prompts included, are not differentiated.
MOST_TOKENS = 16_384
# Of each folder, the step of its last audit, and what that left of the policy.
_left: dict[Path, tuple[int, dict]] = {}


class RecordError(ValueError):
    """What was given does not fit together."""


class step:
    """Collects one step, and writes it to `OUT/steps/NNNNNN` when the block ends without an exception."""

    def __init__(self, out, number: int, *, tokenizer=None, declared: dict | None = None, settings=None, seed=None):
        self.folder = Path(out) / "steps" / f"{number:06d}"
        self._record = {
            "format": "grpo-step",
            "version": VERSION,
            "step": number,
            "producer": {"name": "grpo_record"},
            "versions": {"torch": torch.__version__},
            "declared": declared,
            "settings": settings,
            "seed": seed,
            "tokenizer": tokenizer and _tokenizer(tokenizer),
            "updates": [],
        }
        self._tokenizer = tokenizer
        self._comparisons: list[dict] = []
        self._audited: dict[int, dict] = {}
        self._policy = self._before = self._slopes = self._gradient = self._hook = None
        self._arrays: dict[str, torch.Tensor] = {}
        self._mask: torch.Tensor | None = None

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace) -> None:
        if self._hook is not None:
            self._hook.remove()
        if kind is None:
            self._write()

    def prompts(self, ids, mask=None, *, texts=None, messages=None, answers=None, assistant_header=None, rows=None):
        """One row for each prompt: ids [P, L] as the sampler was given them."""
        rows_of_ids = self._rows("prompts", ids, mask)
        self._record["prompts"] = {
            "messages": _listed(messages),
            "rows": _listed(rows),
            "assistantHeader": assistant_header,
        }
        self._count("prompts", len(rows_of_ids), texts=texts, messages=messages, answers=answers, rows=rows)
        self._texts("prompts.texts", texts)
        self._texts("prompts.answers", answers)
        self._pack("prompts.ids", rows_of_ids, torch.int32)
        self._lengths("prompts.lengths", rows_of_ids)
        if texts is not None and self._tokenizer is not None:
            special = getattr(self._tokenizer, "all_special_tokens", [])
            spelt = [self._tokenizer.decode(row.tolist(), skip_special_tokens=False) for row in rows_of_ids]
            self._compare("prompt", "text that the ids of a prompt spell", [
                {"found": own, "plain": text, "deviation": float(_lacks(text, own, special)), "bound": 0.0, "prompt": p}
                for p, (own, text) in enumerate(zip(spelt, texts))
            ])  # fmt: skip

    def completions(self, ids, mask, *, prompt=None, texts=None, sampled_texts=None, finish=None, logprobs=None,
                    drawn_logprobs=None):  # fmt: skip
        """
        One row for each completion: ids [B, T] as they were sampled, the end token included.

        prompt: index of the prompt of each, [B]; in blocks of equal size when not given, which takes prompts() before. texts: as the reward functions got
        them. sampled_texts: what the ids stand for; the tokenizer decodes them when not given. finish: "stop" or "length" of each. logprobs: of the sampler, [B, T], under softmax(logits / temperature);
        drawn_logprobs: under what truncation and penalties left of it.
        """
        self._mask = torch.as_tensor(mask).detach().cpu().bool()
        own = self._rows("completions", ids, self._mask)
        if prompt is None:
            count = len(self._arrays.get("prompts.lengths", ()))
            if count == 0:
                raise RecordError("which completions share a prompt is not known: call prompts() before, or give prompt=")
            if len(own) % count:
                raise RecordError(f"{len(own)} completions are no equal groups of {count} prompts: give prompt=")
            prompt = [row * count // len(own) for row in range(len(own))]
        self._record["completions"] = {"finish": _listed(finish)}
        if sampled_texts is None and texts is not None and self._tokenizer is not None:
            sampled_texts = [self._tokenizer.decode(row.tolist(), skip_special_tokens=True) for row in own]
        self._count("completions", len(own), prompt=prompt, texts=texts, sampled_texts=sampled_texts, finish=finish)
        self._texts("completions.texts", texts)
        self._texts("completions.sampledTexts", sampled_texts)
        self._arrays["completions.prompt"] = torch.as_tensor(prompt, dtype=torch.int32).cpu()
        self._pack("completions.ids", own, torch.int32)
        self._lengths("completions.lengths", own)
        self._per_token("completions.samplerLogprobs", logprobs)
        self._per_token("completions.sampledLogprobs", drawn_logprobs)

    def rewards(self, values: dict, *, weights=None, totals=None):
        """Values [B] of each reward by its name, NaN where there is none; their weights, all 1 when not given."""
        weights = [1.0] * len(values) if weights is None else torch.as_tensor(weights).detach().flatten().tolist()
        columns = [torch.as_tensor(column).detach().cpu().double() for column in values.values()]
        self._record["rewards"] = {"names": list(values), "weights": weights}
        self._count("rewards", len(columns), weights=weights)
        total = sum(weight * column for weight, column in zip(weights, columns)) if totals is None else totals
        self._arrays["rewards.values"] = torch.cat(columns)
        self._arrays["rewards.totals"] = torch.as_tensor(total).detach().cpu().double()

    def advantages(self, values):
        """[B], as the loss takes them."""
        self._arrays["advantages"] = torch.as_tensor(values).detach().cpu().double().flatten()

    def scored(self, loss_mask=None, *, prompts=None, ids=None, old=None, reference=None):
        """
        What the loss was given of the same places as the completions, each [B, T]: its mask, the ids when they are not those
        that were sampled, log-probs of the old policy and of the reference. prompts: ids and mask, [B, L], of the prompts
        that the log-probs were computed behind.
        """
        if prompts is not None:
            self._scored_prompts(self._rows("scored prompts", *prompts))
        own = self._known_mask()
        self._arrays["scored.lengths"] = own.sum(1).to(torch.int32)
        self._per_token("scored.ids", ids, torch.int32)
        if ids is None and "completions.ids" in self._arrays:
            self._arrays["scored.ids"] = self._arrays["completions.ids"].clone()
        self._per_token("scored.mask", loss_mask, torch.uint8)
        self._per_token("scored.oldLogprobs", old)
        self._per_token("scored.referenceLogprobs", reference)

    def checksums(self, policy: float, reference: float):
        """`checksum` of both models, the policy's before the update. On the first step they tell another reference from one
        that is scored otherwise."""
        self._record["probes"] = {"checksums": {"policy": policy, "reference": reference}}

    def audit(self, policy, *, reference=None, sampler=None, optimizer=None, forward=None):
        """
        Computes some completions again, each alone: without padding, dropout or gradients. Call it after `scored`, before the
        first update. Its log-probs are held to those of the sampler, the old policy, the policy of the first update and the
        reference; the policy's weights to those that the step before left, and to the sampler's, where that is a model of
        its own; at the end of the block, how much of the weights changed.

        optimizer: then the gradient of its first step is held to the terms of the first update, along a few random directions:
        to what the log-probs of all completions do there, which takes two forward passes each, of each completion alone; in
        float32. It needs the advantages before, and the weights of `update`. forward: a function of a model and ids [1, L] that
        gives logits [1, L, V]; model(input_ids=ids).logits when not given.
        """
        declared = (self._record["declared"] or {}).get("rollout", {})
        temperature = declared.get("temperature", 1.0) or 1.0
        prompt_of = self._arrays["completions.prompt"].tolist()
        prompts = self._arrays["prompts.ids"].split(self._arrays["prompts.lengths"].tolist())
        rows = self._arrays["completions.ids"].split(self._arrays["completions.lengths"].tolist())
        # Of short prompts first: they are the ones that are padded.
        order = sorted(range(len(rows)), key=lambda b: (len(prompts[prompt_of[b]]), -len(rows[b])))
        chosen = sorted({*order[: AUDITED - 1], order[-1]})
        for name, model in (("policy", policy), ("reference", reference)):
            if model is not None:
                with _evaluating(model), torch.no_grad():
                    for b in chosen:
                        own = _score(model, prompts[prompt_of[b]], rows[b], temperature, forward)
                        self._audited.setdefault(b, {})[name] = own
        self._policy, self._before = policy, _samples(policy)
        step, left = _left.get(self.folder.parent, (0, {}))
        if step == self._record["step"] - 1:
            self._compare("weights", "weight that the step before left", _apart(self._before, left))
        if sampler is not None:
            # A copy in half precision has rounded them.
            dtypes = {next(model.parameters()).dtype for model in (policy, sampler)}
            share = 0.0 if len(dtypes) == 1 else max(torch.finfo(dtype).eps for dtype in dtypes)
            self._compare("weights", "weight of the sampler", _apart(_samples(sampler), self._before, share))
        tokens = sum(len(prompts[p]) + len(row) for p, row in zip(prompt_of, rows))
        is_plain = next(policy.parameters()).dtype == torch.float32 and not _keeps_support(declared) and not _is_distributed()
        if optimizer is not None and is_plain and tokens <= MOST_TOKENS:
            whole = [(prompts[p], row) for p, row in zip(prompt_of, rows)]
            self._slopes = _slopes(policy, whole, temperature, forward, self._record["step"])
            self._hook = optimizer.register_step_pre_hook(self._take_gradient)

    def _take_gradient(self, *_) -> None:
        """Along each direction, of what the optimizer is about to use."""
        self._hook.remove()
        self._gradient = [
            sum(float((p.grad.float() * v).sum()) for p, v in pairs if p.grad is not None)
            for pairs in (_direction(self._policy, self._record["step"], k) for k in range(DIRECTIONS))
        ]

    def _compare_gradient(self, members: list[int], masks, lengths: list[int]) -> None:
        """Holds the gradient to that of the recorded terms at ratio 1: slope of the policy's term −A, of the KL's by its estimate."""
        declared = self._record["declared"] or {}
        objective, kl = declared.get("objective", {}), declared.get("kl", {})
        components = self._record["updates"][0].get("components", [])
        beta = kl.get("beta", 0.0) if kl.get("place") != "reward" else 0.0
        estimator = kl.get("estimator", "k3")
        names = ("updates.0.weights", "updates.0.policyLogprobs", *(("scored.referenceLogprobs",) if beta else ()))
        is_known = objective.get("ratio", "token") == "token" and objective.get("loss") not in ("gspo", "sapo", "vespo")
        has_bonus = any(one["name"] == "entropy" and one["coefficient"] for one in components)
        has_bonus = has_bonus or declared.get("entropy", {}).get("coefficient", 0)
        if not is_known or has_bonus or estimator not in ("k1", "k2", "k3") or kl.get("biasCorrected"):
            return
        if "advantages" not in self._arrays or any(name not in self._arrays for name in names):
            return
        sizes = [lengths[b] for b in members]
        weights, logprobs = (self._arrays[name].split(sizes) for name in names[:2])
        reference = self._arrays[names[2]].split(lengths) if beta else None
        found, plain, size = self._gradient, [0.0] * DIRECTIONS, 0.0
        for i, b in enumerate(members):
            slope = -self._arrays["advantages"][b] * torch.ones(lengths[b])
            if beta:
                d = logprobs[i] - reference[b]
                slope = slope + beta * {"k1": torch.ones_like(d), "k2": d, "k3": 1 - (-d).exp()}[estimator]
            for k in range(DIRECTIONS):
                terms = weights[i] * slope * masks[b] * self._slopes[b][k]
                plain[k] += float(terms.sum())
                size += float(terms.abs().sum()) / DIRECTIONS
        norms = [math.sqrt(sum(x * x for x in values)) for values in (found, plain)]
        # What cancels out is rounding.
        if norms[1] <= 1e-3 * size:
            return
        scale = sum(f * p for f, p in zip(found, plain)) / norms[1] ** 2
        apart = math.sqrt(sum((f - scale * p) ** 2 for f, p in zip(found, plain))) / (norms[0] or 1.0)
        bound = 0.02 + 1e-3 * size / norms[1]
        far = {"found": apart if norms[0] else 1.0, "plain": 0.0, "bound": bound}
        self._compare("gradient", "part of the gradient that the terms of the loss do not explain", [far])
        norm, limit = self._record["updates"][0].get("gradNorm"), declared.get("optimizer", {}).get("maxGradNorm")
        if norm and limit and apart <= bound:
            clipped = min(1.0, limit / norm)
            self._compare("gradient", "multiple of the gradient of the loss", [{"found": scale, "plain": clipped, "bound": 2 * bound * clipped}])

    def _finish_audit(self) -> None:
        """Compares what the loop gave with what was computed again."""
        lengths = self._arrays["completions.lengths"].tolist()
        quantities = [("completion", "log-prob of the sampler", "completions.samplerLogprobs", "policy")]
        if not _keeps_support((self._record["declared"] or {}).get("rollout", {})):
            quantities += [
                ("old log-probs", "old log-prob", "scored.oldLogprobs", "policy"),
                ("old log-probs", "log-prob of the policy", "updates.0.policyLogprobs", "policy"),
                ("old log-probs", "log-prob of the reference", "scored.referenceLogprobs", "reference"),
            ]
        members = self._arrays.get("updates.0.completions", torch.arange(len(lengths))).tolist()
        masks = self._arrays.get("scored.mask")
        masks = masks.split(lengths) if masks is not None else [torch.ones(n) for n in lengths]
        for hand_over, quantity, name, model in quantities:
            if name not in self._arrays:
                continue
            order = members if name.startswith("updates") else range(len(lengths))
            rows = dict(zip(order, self._arrays[name].split([lengths[b] for b in order])))
            self._compare(hand_over, quantity, [
                {"found": float(found), "plain": float(plain), "bound": one[model][1], "completion": b, "token": t}
                for b, one in self._audited.items() if b in rows and model in one
                for t, (found, plain, trained) in enumerate(zip(rows[b], one[model][0], masks[b]))
                if trained or hand_over == "completion"
            ])  # fmt: skip
        if self._gradient is not None and self._record["updates"]:
            self._compare_gradient(members, masks, lengths)
        after = _samples(self._policy)
        _left[self.folder.parent] = self._record["step"], after
        updates = self._record["updates"]
        sizes = {name: p.numel() for name, p in self._policy.named_parameters() if name in after}
        changed = sum(sizes[name] * (after[name] != self._before[name]).float().mean().item() for name in after)
        # Of several updates none changed more than all of them.
        if all(update.get("learningRate") != 0 for update in updates):
            for update in updates:
                update.setdefault("changedShare", changed / max(1, sum(sizes.values())))

    def _compare(self, hand_over: str, quantity: str, pairs: list[dict]) -> None:
        """Keeps the pair that lies furthest apart, measured by its bound."""
        for pair in pairs:
            if "deviation" not in pair:
                pair["deviation"] = abs(pair["found"] - pair["plain"]) if pair["found"] != pair["plain"] else 0.0
        if pairs:
            worst = max(pairs, key=lambda one: _in_bounds(one["deviation"], one["bound"]))
            self._comparisons.append({"handOver": hand_over, "quantity": quantity, "compared": len(pairs), **worst})

    def _scored_prompts(self, rows) -> None:
        """One for each prompt: the first that was scored with other ids than were sampled from, else its first row."""
        self._known_mask()
        prompt_of = self._arrays["completions.prompt"].tolist()
        self._count("completions", len(prompt_of), prompts=rows)
        lengths = self._arrays["prompts.lengths"].tolist()
        sampled = self._arrays["prompts.ids"].split(lengths)
        scored = []
        for p, own in enumerate(sampled):
            group = [row.int() for row, of in zip(rows, prompt_of) if of == p] or [own]
            scored.append(next((row for row in group if not torch.equal(row, own)), group[0]))
        self._pack("prompts.scoredIds", scored, torch.int32)
        self._lengths("prompts.scoredLengths", scored)

    def update(self, loss=None, logprobs=None, *, completions=None, entropies=None, ratios=None, policy_terms=None,
               kl_terms=None, weights=None, components=None, grad_norm=None, learning_rate=None, zero_gradients=None,
               changed_share=None, changed_weight_share=None):  # fmt: skip
        """
        One update of the weights. Per token, [b, T]: log-probs and entropies of the policy, the ratios, the terms of the loss
        before weights, and what they are multiplied by. completions: which rows these are, all when not given.
        components: {name: (coefficient, value)} of the loss. changed_share: share of the elements of the weights that the
        update changed; changed_weight_share: of those that the forward pass reads, where float32 masters are kept beside.
        """
        place = f"updates.{len(self._record['updates'])}"
        facts = {"loss": loss, "gradNorm": grad_norm, "learningRate": learning_rate,
                 "zeroGradients": zero_gradients, "changedShare": changed_share,
                 "changedWeightShare": changed_weight_share}  # fmt: skip
        own = {key: torch.as_tensor(value).detach().item() for key, value in facts.items() if value is not None}
        if components:
            own["components"] = [{"name": name, "coefficient": float(c), "value": float(v)} for name, (c, v) in components.items()]
        self._record["updates"].append(own)
        rows = None if completions is None else torch.as_tensor(completions).long().cpu()
        if rows is not None:
            self._arrays[f"{place}.completions"] = rows.to(torch.int32)
        columns = {"policyLogprobs": logprobs, "entropies": entropies, "ratios": ratios, "policyTerms": policy_terms,
                   "klTerms": kl_terms, "weights": weights}  # fmt: skip
        for key, values in columns.items():
            self._per_token(f"{place}.{key}", values, rows=rows)

    def _known_mask(self) -> torch.Tensor:
        if self._mask is None:
            raise RecordError("call completions(ids, mask) first: its mask says which places are tokens")
        return self._mask

    def _per_token(self, name: str, values, dtype=torch.float32, rows=None) -> None:
        if values is None:
            return
        mask = self._known_mask() if rows is None else self._known_mask()[rows]
        values = torch.as_tensor(values).detach().cpu()
        if values.shape != mask.shape:
            raise RecordError(f"{name} has the shape {list(values.shape)}; the mask of its completions has {list(mask.shape)}")
        self._arrays[name] = values[mask].to(dtype).contiguous()

    def _rows(self, what: str, ids, mask) -> list[torch.Tensor]:
        ids = torch.as_tensor(ids).detach().cpu()
        mask = torch.ones_like(ids, dtype=torch.bool) if mask is None else torch.as_tensor(mask).detach().cpu().bool()
        if ids.dim() != 2 or ids.shape != mask.shape:
            raise RecordError(f"ids of {what} are [rows, tokens] with a mask of the same shape, found {list(ids.shape)} and {list(mask.shape)}")
        return [row[own] for row, own in zip(ids, mask)]

    def _pack(self, name: str, rows, dtype) -> None:
        self._arrays[name] = torch.cat(rows).to(dtype).contiguous()

    def _lengths(self, name: str, rows) -> None:
        self._arrays[name] = torch.tensor([len(row) for row in rows], dtype=torch.int32)

    def _texts(self, name: str, texts) -> None:
        """UTF-8 of all texts one after another, and the bytes of each; -1 where there is none."""
        if texts is None:
            return
        own = [None if text is None else str(text).encode("utf-8", "replace") for text in texts]
        joined = b"".join(text for text in own if text is not None)
        self._arrays[f"{name}.bytes"] = (
            torch.frombuffer(bytearray(joined), dtype=torch.uint8) if joined else torch.zeros(0, dtype=torch.uint8)
        )
        lengths = [-1 if text is None else len(text) for text in own]
        self._arrays[f"{name}.lengths"] = torch.tensor(lengths, dtype=torch.int32)

    @staticmethod
    def _count(what: str, count: int, **columns) -> None:
        for name, column in columns.items():
            if column is not None and len(column) != count:
                raise RecordError(f"{what} has {count} rows, and {name} {len(column)}")

    def _write(self) -> None:
        """The JSON comes last and at once: a record is whole where it is there."""
        if self._policy is not None:
            self._finish_audit()
        if self._comparisons:
            own = {"completions": sorted(self._audited), "comparisons": self._comparisons, "missing": []}
            self._record["audit"] = own
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "step.safetensors").write_bytes(save({k: v for k, v in self._arrays.items() if v.numel() > 0 or k.endswith(".bytes")}))
        unfinished = self.folder / "step.json.tmp"
        unfinished.write_text(json.dumps(_plain(self._record), ensure_ascii=False) + "\n", encoding="utf-8")
        os.replace(unfinished, self.folder / "step.json")


def checksum(model: torch.nn.Module) -> float:
    """Sum of all weights: equal weights have equal sums."""
    return sum(p.detach().double().sum().item() for p in model.parameters())


def _lacks(text: str, spelt: str, special: list[str]) -> bool:
    """Whether ids spell a part of a text only, or leave out its white space."""
    for part in special:
        text, spelt = text.replace(part, ""), spelt.replace(part, "")
    asked, found = ("".join(unicodedata.normalize("NFKC", one).lower().split()) for one in (text, spelt))
    if asked == found:
        return 2 * sum(map(str.isspace, spelt.strip())) < sum(map(str.isspace, text.strip()))
    return bool(found) and asked not in found and (asked.startswith(found) or asked.endswith(found))


def _score(model, prompt, ids, temperature: float, forward) -> tuple[list[float], float]:
    """Log-probs of a completion behind its prompt, and how far rounding may put each of them off."""
    first = next(model.parameters())
    whole = torch.cat([prompt, ids]).long()[None].to(first.device)
    logits = forward(model, whole) if forward else model(input_ids=whole).logits
    logits = logits[0, len(prompt) - 1 : -1].float() / temperature
    every = logits.log_softmax(-1)
    layers = getattr(getattr(model, "config", None), "num_hidden_layers", None) or 1
    eps = torch.finfo(first.dtype).eps
    # Roundings through all layers add up like a random walk; half precision is summed in float32.
    bound = (64 if eps < 1e-6 else 1) * eps * layers**0.5 * float(logits.abs().max() if len(ids) else 0)
    return every.gather(1, whole[0, len(prompt) :, None])[:, 0].tolist(), bound


def _direction(model, step: int, k: int):
    """A random direction: of each trained weight a normal number for each element, times the weight's own size."""
    for i, p in enumerate(p for p in model.parameters() if p.requires_grad and p.numel() > 0):
        noise = torch.Generator().manual_seed(1_000_003 * step + 1009 * k + i)
        v = torch.randn(p.shape, generator=noise).to(p.device)
        yield p, v * (p.detach().float().square().mean().sqrt() + 1e-3)


def _slopes(model, rows, temperature: float, forward, step: int) -> list[list[torch.Tensor]]:
    """Slopes of each completion's log-probs along each direction, by central differences; the weights are put back."""
    slopes: list[list[torch.Tensor]] = [[] for _ in rows]
    with _evaluating(model), torch.no_grad():
        for k in range(DIRECTIONS):
            ends = []
            for sign in (1, -1):
                # Made before any weight moves: it depends on their size.
                moves = list(_direction(model, step, k))
                kept = [p.detach().clone() for p, _ in moves]
                # Of .data, or a graph that the loop has made already would not be differentiated any more.
                try:
                    for p, v in moves:
                        p.data.add_(v, alpha=sign * MOVE)
                    ends.append([torch.tensor(_score(model, *row, temperature, forward)[0]) for row in rows])
                finally:
                    for (p, _), before in zip(moves, kept):
                        p.data.copy_(before)
            for own, up, down in zip(slopes, *ends):
                own.append((up - down) / (2 * MOVE))
    return slopes


@contextmanager
def _evaluating(model):
    """Without dropout, and afterwards every module in the mode that it was in."""
    training = [module for module in model.modules() if module.training]
    for module in training:
        module.training = False
    try:
        yield
    finally:
        for module in training:
            module.training = True


def _samples(model) -> dict[str, torch.Tensor]:
    """A copy of some elements of each trained weight, of an odd stride so as not to stay in one column."""
    named = [(name, p.detach().reshape(-1)) for name, p in model.named_parameters() if p.numel() > 0]
    return {name: p[:: (p.numel() // SAMPLED_ELEMENTS) | 1].float().cpu().clone() for name, p in named}


def _apart(found: dict, plain: dict, share: float = 0.0) -> list[dict]:
    """The element of each weight that differs most; by so much of itself each may."""
    pairs = []
    for name, own in found.items():
        if name in plain and plain[name].shape == own.shape:
            i = int(((own - plain[name]).abs() - share * plain[name].abs()).nan_to_num(nan=math.inf).argmax())
            bound = share * abs(float(plain[name][i]))
            pairs.append({"found": float(own[i]), "plain": float(plain[name][i]), "bound": bound, "tensor": name})
    return pairs


def _in_bounds(deviation: float, bound: float) -> float:
    if math.isnan(deviation):
        return math.inf
    return deviation / bound if bound > 0 else math.inf if deviation > 0 else 0.0


def _keeps_support(rollout: dict) -> bool:
    """Whether tokens are scored over what truncation left of the vocabulary."""
    truncates = rollout.get("topK", 0) or rollout.get("topP", 1) < 1 or rollout.get("minP", 0)
    return bool(truncates and rollout.get("keepSupport"))


def _is_distributed() -> bool:
    """Whether gradients are those of other processes, too."""
    return torch.distributed.is_available() and torch.distributed.is_initialized() and torch.distributed.get_world_size() > 1


def _listed(values):
    return None if values is None else list(values)


def _tokenizer(tokenizer) -> dict:
    """What a tokenizer of transformers says of itself."""
    special = dict(zip(getattr(tokenizer, "all_special_ids", []), getattr(tokenizer, "all_special_tokens", [])))
    end, bos = getattr(tokenizer, "eos_token_id", None), getattr(tokenizer, "bos_token_id", None)
    begins = bos is not None and list(tokenizer("a")["input_ids"][:1]) == [bos]
    if bos is not None and getattr(tokenizer, "chat_template", None):
        rendered = tokenizer.apply_chat_template([{"role": "user", "content": "a"}], tokenize=False)
        begins = begins or rendered.startswith(tokenizer.bos_token)
    return {
        "vocabularySize": len(tokenizer),
        "bosId": bos,
        "expectedBos": None if bos is None else int(begins),
        "padId": getattr(tokenizer, "pad_token_id", None),
        "endIds": None if end is None else [end],
        "specialTokens": {str(key): text for key, text in special.items()},
    }


def _plain(value):
    """A value for JSON: None is left out, NaN and infinities become their names, other objects their kind."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, torch.Tensor) and value.dim() == 0:
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value if isinstance(value, (str, int, float, type(None))) else f"<{type(value).__name__}>"
