"""A GRPO trainer of a hundred lines in plain PyTorch, with one fault planted, that writes step records.

    python parity/torch_loop.py FAULT OUT [SEED]
    python parity/torch_loop.py fixtures           # the first step of each, into fixtures/torch-loop

FAULT is `none` or one of FAULTS below. Prompts are padded on the left, completions on the right, as loops do it by hand.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch.nn.functional import log_softmax

sys.path.insert(0, str(Path(__file__).parent.parent / "integrations" / "torch"))
import grpo_record  # noqa: E402

PAD, BOS, END, HEADER, WORDS = 0, 1, 2, [3, 4], 32
GROUP, NEW, BETA, BONUS, TEMPERATURE, RATE = 4, 12, 0.1, 0.01, 1.0, 3e-3
FAULTS = {
    "other-template": "the policy is scored on prompts without the header that it was sampled from",
    "prompt-penalty": "penalties count the tokens of the prompt",
    "raw-prompts": "loss and KL take the raw prompt, generation the rendered one",
    "cut-by-count": "texts are cut by the number of the prompt's tokens, and begin with the prompt's end",
    "right-pad-mask": "the mask of the completion is placed as if the padding were on the right",
    "gather": "log-probs of all tokens are taken from the first position",
    "train-mode": "the policy is scored with dropout",
    "bf16-lost": "weights are bfloat16, and updates of a small rate are rounded away",
    "entropy-sign": "the entropy bonus is added to the loss",
    "retokenised": "completions are normalised and encoded again before they are scored",
    "no-end": "the mask leaves out the end token",
    "double-bos": "the template's BOS and the tokenizer's both begin the prompt",
    "base-reference": "the reference is not the model that the run begins with",
    "lost-micro-batch": "gradients are zeroed between two micro-batches, so that only the second one's are left",
}


class Words:
    """A tokenizer of the names of ids."""

    bos_token_id, eos_token_id, pad_token_id = BOS, END, PAD
    all_special_ids, all_special_tokens = [PAD, BOS, END], ["<pad>", "<bos>", "<end>"]

    def __len__(self):
        return WORDS

    def __call__(self, text):
        return {"input_ids": [BOS] + [int(word[1:]) for word in text.split() if word[1:].isdigit()]}

    def decode(self, ids, skip_special_tokens=False):
        special = {} if skip_special_tokens else dict(zip(self.all_special_ids, self.all_special_tokens))
        words = [special.get(i, "" if i in self.all_special_ids else f"w{i}") for i in ids]
        return " ".join(word for word in words if word)


class Model(torch.nn.Module):
    """A causal transformer of one layer; positions do not count padding."""

    def __init__(self):
        super().__init__()
        self.embed, self.place = torch.nn.Embedding(WORDS, 32), torch.nn.Embedding(64, 32)
        self.layer = torch.nn.TransformerEncoderLayer(32, 4, 64, dropout=0.2, batch_first=True)
        self.head = torch.nn.Linear(32, WORDS)

    def forward(self, ids, mask):
        length = ids.shape[1]
        hidden = self.embed(ids) + self.place((mask.cumsum(1) - 1).clamp(min=0))
        apart = torch.ones(length, length, dtype=torch.bool).triu(1) | ~mask.bool()[:, None, :]
        # A padded place attends to itself, so that no row of attention is empty.
        apart &= ~torch.eye(length, dtype=torch.bool)
        return self.head(self.layer(hidden, src_mask=apart.repeat_interleave(4, 0)))


def padded(rows, left):
    """Ids and mask of rows, padded on one side."""
    width = max(map(len, rows))
    fill = [[PAD] * (width - len(row)) for row in rows]
    ids = [f + row if left else row + f for f, row in zip(fill, rows)]
    return torch.tensor(ids), torch.tensor([[0] * len(f) + [1] * len(r) if left else [1] * len(r) + [0] * len(f) for f, r in zip(fill, rows)])


def generate(model, prompts, fault):
    """Draws one completion for each prompt; gives ids and log-probs, before penalties and after them."""
    rows, logprobs, drawn_from = [[] for _ in prompts], [[] for _ in prompts], [[] for _ in prompts]
    model.eval()
    while any(len(row) < NEW and END not in row for row in rows):
        ids, mask = padded([p + r for p, r in zip(prompts, rows)], left=True)
        with torch.no_grad():
            logits = model(ids, mask)[:, -1].float() / TEMPERATURE
        plain = log_softmax(logits, -1)
        if fault == "prompt-penalty":
            for b, own in enumerate(prompts):
                logits[b, list(set(own + rows[b]))] -= 2.0
        drawn = torch.multinomial(logits.softmax(-1), 1).flatten().tolist()
        for b, token in enumerate(drawn):
            if len(rows[b]) < NEW and END not in rows[b]:
                rows[b].append(token)
                logprobs[b].append(plain[b, token].item())
                drawn_from[b].append(log_softmax(logits, -1)[b, token].item())
    return rows, logprobs, drawn_from


def score(model, prompts, rows, fault, grad):
    """Log-probs [B, T] and entropies of the completions behind their prompts."""
    width = max(map(len, rows))
    p_ids, p_mask = padded(prompts, left=True)
    c_ids, c_mask = padded(rows, left=False)
    with torch.set_grad_enabled(grad):
        logits = model(torch.cat([p_ids, c_ids], 1), torch.cat([p_mask, c_mask], 1))[:, -width - 1 : -1].float()
        every = log_softmax(logits / TEMPERATURE, -1)
        place = every[:, :1].expand_as(every) if fault == "gather" and grad else every
        return place.gather(2, c_ids.unsqueeze(2)).squeeze(2), -(every.exp() * every).sum(-1)


def loss_mask(prompts, rows, fault):
    c_ids, c_mask = padded(rows, left=False)
    if fault == "no-end":
        return c_mask * (c_ids != END)
    if fault != "right-pad-mask":
        return c_mask
    width, total = c_ids.shape[1], max(map(len, prompts)) + c_ids.shape[1]
    whole = torch.zeros(len(rows), total)
    for b, (p, r) in enumerate(zip(prompts, rows)):
        whole[b, len(p) : len(p) + len(r)] = 1
    return whole[:, -width:]


def train(fault, out, steps=3, seed=1):
    torch.manual_seed(seed)
    policy, reference = Model(), Model()
    rate = 1e-6 if fault == "bf16-lost" else RATE
    if fault == "bf16-lost":
        policy, reference = policy.bfloat16(), reference.bfloat16()
    if fault != "base-reference":
        reference.load_state_dict(policy.state_dict())
    reference.eval()
    optimizer = torch.optim.AdamW(policy.parameters(), lr=rate, weight_decay=0.0)
    # The gradient of an entropy bonus is none that an audit knows.
    coefficient = BONUS if fault == "entropy-sign" else 0.0
    penalties = {"presencePenalty": 2.0} if fault == "prompt-penalty" else {}
    rollout = {**penalties, "group": GROUP, "temperature": TEMPERATURE, "maxNewTokens": NEW, "topP": 1.0, "topK": 0}
    declared = {"rollout": rollout, "objective": {"loss": "dapo", "maskTruncated": False}, "advantage": {"scale": "group", "epsilon": 1e-4},
                "kl": {"beta": BETA, "estimator": "k3"}, "entropy": {"coefficient": coefficient}, "textChanges": [],
                "optimizer": {"learningRate": rate, "maxGradNorm": 1.0},
                "dtype": "bfloat16" if fault == "bf16-lost" else "float32", "masterWeights": False}  # fmt: skip
    for number in range(1, steps + 1):
        raw = [[BOS] + [5 + (number + p + i) % 20 for i in range(3 + 14 * p)] for p in range(4)]
        rendered = [[BOS] * (fault == "double-bos") + own + HEADER for own in raw]
        each = [own for own in rendered for _ in range(GROUP)]
        rows, sampled, drawn = generate(policy, each, fault)
        texts = [Words().decode(row, skip_special_tokens=True) for row in rows]
        if fault == "cut-by-count":
            width = max(map(len, each))
            cut = [([PAD] * (width - len(p)) + p + r)[len(p) :] for p, r in zip(each, rows)]
            texts = [Words().decode(row, skip_special_tokens=True) for row in cut]
        rewards = torch.tensor([sum(word in ("w7", "w8", "w9") for word in text.split()) / NEW for text in texts])
        groups = rewards.view(-1, GROUP)
        advantages = ((groups - groups.mean(1, keepdim=True)) / (groups.std(1, keepdim=True) + 1e-4)).flatten()
        scored = each
        if fault in ("raw-prompts", "other-template"):
            scored = [own[: -len(HEADER)] if fault == "raw-prompts" else own[1:-1] for own in each]
        again = [[t - 1 if t % 2 and t > 5 else t for t in row] for row in rows] if fault == "retokenised" else rows
        policy.train(fault == "train-mode")
        logprobs, entropies = score(policy, scored, again, fault, grad=True)
        old = logprobs.detach()
        theirs, _ = score(reference, scored, again, fault, grad=False)
        mask = loss_mask(each, rows, fault)
        ratio, distance = (logprobs - old).exp(), theirs - logprobs
        terms, kl = -ratio * advantages[:, None], distance.exp() - distance - 1
        total = mask.sum().clamp(min=1)
        bonus = coefficient * (entropies * mask).sum() / total
        shares = (terms + BETA * kl) * mask / total
        loss = shares.sum() + (bonus if fault == "entropy-sign" else -bonus)
        c_ids, c_mask = padded(rows, left=False)
        with grpo_record.step(out, number, tokenizer=Words(), declared=declared, seed=seed) as s:
            s.prompts(*padded(rendered, left=True), texts=[Words().decode(own) for own in rendered])
            finish = ["stop" if END in row else "length" for row in rows]
            s.completions(c_ids, c_mask, texts=texts, finish=finish, logprobs=padded_floats(sampled),
                          drawn_logprobs=padded_floats(drawn))  # fmt: skip
            s.checksums(grpo_record.checksum(policy), grpo_record.checksum(reference))
            s.rewards({"words": rewards})
            s.advantages(advantages)
            s.scored(mask, prompts=padded(scored, left=True), ids=padded(again, left=False)[0], reference=theirs)
            s.audit(policy, reference=reference, optimizer=optimizer, forward=lambda model, ids: model(ids, torch.ones_like(ids)))
            optimizer.zero_grad()
            (shares[len(rows) // 2 :].sum() if fault == "lost-micro-batch" else loss).backward()
            norm = torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            optimizer.step()
            s.update(loss, logprobs, entropies=entropies, policy_terms=terms, kl_terms=kl, weights=mask / total,
                     grad_norm=norm, learning_rate=rate)  # fmt: skip


def padded_floats(rows):
    width = max(map(len, rows))
    return torch.tensor([row + [0.0] * (width - len(row)) for row in rows])


if __name__ == "__main__":
    if sys.argv[1:] == ["fixtures"]:
        for name in ("none", *FAULTS):
            train(name, Path(__file__).parent / "fixtures" / "torch-loop" / name, steps=1)
    elif len(sys.argv) not in (3, 4) or sys.argv[1] not in ("none", *FAULTS):
        sys.exit(__doc__ + "\n" + "\n".join(f"{name:15} {what}" for name, what in FAULTS.items()))
    else:
        train(*sys.argv[1:3], seed=int((*sys.argv, 1)[3]))
