"""GRPOTrainer that keeps what it computes, and one that learns again from what another has kept."""

import torch
from trl import GRPOTrainer
from trl.trainer import grpo_trainer


class Watched(GRPOTrainer):
    """GRPOTrainer that also keeps what it computes; it computes nothing else."""

    each_update = True

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.rollouts, self.micro_steps, self.tensors = [], [], {}

    def _calculate_rewards(self, *args, **kwargs):
        self.rewards = super()._calculate_rewards(*args, **kwargs)
        return self.rewards

    def _generate_and_score_completions(self, inputs):
        output = super()._generate_and_score_completions(inputs)
        ids = output["completion_ids"].tolist()
        # Not by the mask, which may leave a truncated row out: up to the first end, or all.
        end, width = self._tokenizer.eos_token_id, output["completion_ids"].size(1)
        self.lengths = [row.index(end) + 1 if end in row else width for row in ids]
        prompts = zip(output["prompt_ids"], output["prompt_mask"])
        self.rollouts.append(
            {
                "promptIds": [row[mask.bool()].tolist() for row, mask in prompts],
                "completionIds": [row[:n] for row, n in zip(ids, self.lengths)],
                "trained": [bool(mask[0]) for mask in output["completion_mask"]],
                "rewards": [[None if x != x else x for x in row] for row in self.rewards.tolist()],
                "advantages": output["advantages"].tolist(),
                "oldLogps": self.ragged(output.get("old_per_token_logps"), self.lengths),
                "refLogps": self.ragged(output.get("ref_per_token_logps"), self.lengths),
                "numItems": output["num_items_in_batch"].item(),
            }
        )
        # Shuffled and split with the rest: says which completions a micro-batch has.
        output["row"] = torch.arange(len(ids))
        return output

    @staticmethod
    def ragged(values, lengths):
        return None if values is None else [row[:n].tolist() for row, n in zip(values, lengths)]

    def _get_per_token_logps_and_entropies(self, *args, **kwargs):
        self.scored = super()._get_per_token_logps_and_entropies(*args, **kwargs)
        return self.scored

    def training_step(self, model, inputs, num_items_in_batch=None):
        update = self.state.global_step
        if not any(step["update"] == update for step in self.micro_steps) and (update == 0 or self.each_update):
            self.keep(f"weights.{update}")
        loss = super().training_step(model, inputs, num_items_in_batch)
        # The last micro-step of an update leaves the whole gradient, not clipped yet.
        if self.each_update:
            self.keep(f"gradient.{update}", gradient=True)
        return loss

    def compute_loss(self, model, inputs, *args, **kwargs):
        loss = super().compute_loss(model, inputs, *args, **kwargs)
        rows = inputs["row"].tolist()
        lengths = [self.lengths[row] for row in rows]
        logps, entropies, _ = self.scored
        self.micro_steps.append(
            {
                "update": self.state.global_step,
                "rollout": len(self.rollouts) - 1,
                "rows": rows,
                "logps": self.ragged(logps.detach(), lengths),
                "entropies": self.ragged(entropies.detach(), lengths),
                "accumulation": self.current_gradient_accumulation_steps,
                "loss": loss.item(),
            }
        )
        return loss

    def keep_last(self) -> None:
        self.keep(f"weights.{self.state.global_step}")

    def keep(self, name: str, gradient: bool = False) -> None:
        for parameter, value in self.model.named_parameters():
            self.tensors[f"{name}.{parameter}"] = (value.grad if gradient else value).detach().clone().contiguous()


class WatchedAtEnds(Watched):
    """Keeps the first weights and the last, and no gradients."""

    each_update = False


class Again(GRPOTrainer):
    """Learns from the completions that a Watched trainer sampled, in the same micro-batches."""

    seen = -1

    def follow(self, watched: Watched) -> None:
        self.watched = watched

    def _generate_single_turn(self, *args, **kwargs):
        self.seen += 1
        return self.watched.rollouts[self.seen]["completionIds"], None

    def _prepare_inputs(self, batch):
        shuffle = grpo_trainer.shuffle_sequence_dict
        grpo_trainer.shuffle_sequence_dict = self.in_the_same_order
        try:
            return super()._prepare_inputs(batch)
        finally:
            grpo_trainer.shuffle_sequence_dict = shuffle

    def in_the_same_order(self, batch: dict) -> dict:
        steps = [step["rows"] for step in self.watched.micro_steps if step["rollout"] == self.seen]
        order = sum(steps[: self.args.steps_per_generation], [])
        return {key: value if value.ndim == 0 else value[order] for key, value in batch.items()}
