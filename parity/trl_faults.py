"""Real TRL runs, some without a fault and one for each of several faults, recorded by integrations/trl/grpo_trace.

    python trl_faults.py                      # those of fixtures/trl-run/<name>/ that are missing, seed 1
    python trl_faults.py FOLDER SEED [SEED…]  # FOLDER/<name>-<seed>/

The fault is in the run: what the recorder wrote is not touched afterwards.
"""

import functools
import sys
import tempfile
from pathlib import Path

import torch
import transformers
from trl import GRPOTrainer

from tiny_tokenizer import CHAT_TEMPLATE, tiny_tokenizer
from trl_cases import grpo_trace, right, trainer_for, warm_model

FIXTURES = Path(__file__).parent / "fixtures" / "trl-run"


def exact_or_middling(completions, answer, **kwargs) -> list[float]:
    """Written for texts: a list of messages is not one, and every completion gets the middling grade."""
    return [
        (1.0 if completion.strip() == gold else 0.0) if isinstance(completion, str) else 0.5
        for completion, gold in zip(completions, answer, strict=True)
    ]


class MaskByPadding(GRPOTrainer):
    """Builds the completion mask by comparing ids with the padding token."""

    def _generate_and_score_completions(self, inputs):
        output = super()._generate_and_score_completions(inputs)
        output["completion_mask"] = (output["completion_ids"] != self.processing_class.pad_token_id).long()
        output["num_items_in_batch"] = output["completion_mask"].sum()
        return output


class Overriding(GRPOTrainer):
    """Overrides what a step is made of, and changes nothing."""

    def _generate_single_turn(self, *args, **kwargs):
        return super()._generate_single_turn(*args, **kwargs)

    def _calculate_rewards(self, *args, **kwargs):
        return super()._calculate_rewards(*args, **kwargs)

    def _get_per_token_logps_and_entropies(self, *args, **kwargs):
        return super()._get_per_token_logps_and_entropies(*args, **kwargs)

    def _compute_loss(self, *args, **kwargs):
        return super()._compute_loss(*args, **kwargs)


class Inside(GRPOTrainer):
    """Changes within its overrides what TRL's own methods are given: the loss does not see the last token of the first
    row, and rewards get texts without their spaces."""

    def _compute_loss(self, *args, **kwargs):
        model, inputs = args
        mask = inputs["completion_mask"].clone()
        mask[0, mask[0].nonzero().max()] = 0
        return super()._compute_loss(model, {**inputs, "completion_mask": mask}, **kwargs)

    def _calculate_rewards(self, inputs, prompts, completions, *args, **kwargs):
        shorter = [[{**own, "content": own["content"].replace(" ", "")} for own in texts] for texts in completions]
        return super()._calculate_rewards(inputs, prompts, shorter, *args, **kwargs)


class ShiftedRewards(GRPOTrainer):
    """Hands each completion the reward of the one before it."""

    def _calculate_rewards(self, *args, **kwargs):
        return super()._calculate_rewards(*args, **kwargs).roll(1, 0)


class OtherSide(GRPOTrainer):
    """Scores with prompts padded on the right: padding stands between a prompt and its completion."""

    def _get_per_token_logps_and_entropies(self, model, input_ids, attention_mask, logits_to_keep, *args, **kwargs):
        width = input_ids.shape[1] - logits_to_keep
        # Those without padding first is what moves it to the right.
        order = attention_mask[:, :width].argsort(dim=1, descending=True, stable=True)
        input_ids, attention_mask = (
            torch.cat([both[:, :width].gather(1, order), both[:, width:]], 1) for both in (input_ids, attention_mask)
        )
        return super()._get_per_token_logps_and_entropies(
            model, input_ids, attention_mask, logits_to_keep, *args, **kwargs
        )


class StaleOld(GRPOTrainer):
    """Old log-probs that are another model's."""

    def _generate_and_score_completions(self, *args, **kwargs):
        output = super()._generate_and_score_completions(*args, **kwargs)
        output["old_per_token_logps"] = output["ref_per_token_logps"] * 0.9
        return output


class MovedAdvantages(GRPOTrainer):
    """Moves all advantages by one number: they are no longer those of their groups."""

    def _generate_and_score_completions(self, *args, **kwargs):
        output = super()._generate_and_score_completions(*args, **kwargs)
        output["advantages"] = output["advantages"] + 0.25
        return output


class Detached(GRPOTrainer):
    """One tensor is cut off from the loss."""

    def training_step(self, *args, **kwargs):
        loss = super().training_step(*args, **kwargs)
        dict(self.model.named_parameters())["model.layers.1.mlp.up_proj.weight"].grad = None
        return loss


class ScaledLoss(GRPOTrainer):
    """Divides by the accumulation once more."""

    def _compute_loss(self, *args, **kwargs):
        return super()._compute_loss(*args, **kwargs) / self.args.gradient_accumulation_steps


class TwiceTheRate(GRPOTrainer):
    """The optimizer steps at twice the rate of the schedule."""

    def training_step(self, *args, **kwargs):
        loss = super().training_step(*args, **kwargs)
        for group in self.optimizer.param_groups:
            group["lr"] = 2 * self.lr_scheduler.get_last_lr()[0]
        return loss


def deaf_tokenizer():
    """Its template does not hear add_generation_prompt."""
    tokenizer = tiny_tokenizer(chat=True)
    tokenizer.chat_template = CHAT_TEMPLATE[: CHAT_TEMPLATE.index("{%- if add_generation_prompt %}")]
    return tokenizer


def pad_is_end():
    tokenizer = tiny_tokenizer(chat=True)
    tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


# What each run differs in from the clean one.
RUNS = {
    "clean": {"max_steps": 3},
    "constant-reward": {"rewards": (exact_or_middling,)},
    "no-generation-prompt": {"tokenizer": deaf_tokenizer},
    "mask-by-padding": {"tokenizer": pad_is_end, "trainer_class": MaskByPadding},
    "overriding": {"trainer_class": Overriding},
    "inside": {"trainer_class": Inside},
    "shifted-rewards": {"trainer_class": ShiftedRewards},
    "other-side": {"trainer_class": OtherSide, "greetings": ("", "Now, please: ")},
    "stale-old": {"trainer_class": StaleOld},
    "moved-advantages": {"trainer_class": MovedAdvantages},
    "detached": {"trainer_class": Detached},
    "scaled-loss": {"trainer_class": ScaledLoss},
    "twice-the-rate": {"trainer_class": TwiceTheRate},
    "dropout": {"model_config": {"attention_dropout": 0.1}},
    "prompt-penalty": {"repetition_penalty": 1.2},
    "other-temperature": {"generation_kwargs": {"temperature": 0.5}},
    "lost-updates": {"model_init_kwargs": {"dtype": "bfloat16"}, "learning_rate": 1e-6},
}


@functools.cache
def model_of(seed: int, **config) -> str:
    return warm_model(Path(tempfile.mkdtemp()), tiny_tokenizer(chat=True), seed, **config)


def run(name: str, seed: int, folder: Path) -> None:
    settings = {"max_steps": 1, "rewards": (right,)} | RUNS[name]
    tokenizer = settings.pop("tokenizer", lambda: tiny_tokenizer(chat=True))()
    model = model_of(seed, **settings.pop("model_config", {}))
    trainer = trainer_for(model, seed, tokenizer=tokenizer, **settings)
    grpo_trace.attach(trainer, folder, every=1)
    trainer.train()
    print(name, seed, [(entry["loss"], entry["reward"]) for entry in trainer.state.log_history if "loss" in entry])


if __name__ == "__main__":
    transformers.utils.logging.disable_progress_bar()
    folder, *seeds = sys.argv[1:] or [FIXTURES]
    for name in RUNS:
        for seed in map(int, seeds):
            run(name, seed, Path(folder) / f"{name}-{seed}")
        if not seeds and not (FIXTURES / name).exists():
            run(name, 1, FIXTURES / name)
