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


class SampledAgain(GRPOTrainer):
    """Samples each batch twice and trains on the second."""

    def _generate_and_score_completions(self, *args, **kwargs):
        super()._generate_and_score_completions(*args, **kwargs)
        return super()._generate_and_score_completions(*args, **kwargs)


class NewMoments(GRPOTrainer):
    """Begins each step with an optimizer that remembers nothing."""

    def training_step(self, *args, **kwargs):
        self.optimizer.state.clear()
        return super().training_step(*args, **kwargs)


class NoiseBehindClip(transformers.TrainerCallback):
    """Adds noise to the gradients after they were clipped."""

    def on_pre_optimizer_step(self, args, state, control, model=None, **kwargs):
        for p in model.parameters():
            p.grad.add_(0.01 * torch.randn_like(p))


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


class OtherTemplate(GRPOTrainer):
    """Scores behind the prompt without the assistant's header."""

    def _compute_loss(self, model, inputs):
        header = len(self.processing_class("<|start|>assistant\n")["input_ids"])
        # What is cut off moves to the left, as padding.
        cut = {name: inputs[name].roll(header, 1) for name in ("prompt_ids", "prompt_mask")}
        cut["prompt_mask"][:, :header] = 0
        return super()._compute_loss(model, {**inputs, **cut})


class RawPrompts(GRPOTrainer):
    """Scores behind the question alone, without its template."""

    def _compute_loss(self, model, inputs):
        tokenizer = self.processing_class
        texts = tokenizer.batch_decode(inputs["prompt_ids"], skip_special_tokens=True)
        raw = [text.split("\n")[1] for text in texts]
        padded = tokenizer(raw, padding=True, padding_side="left", return_tensors="pt")
        return super()._compute_loss(
            model, {**inputs, "prompt_ids": padded["input_ids"], "prompt_mask": padded["attention_mask"]}
        )


class CutByCount(GRPOTrainer):
    """Cuts completions out of the padded output at the number of the prompt's tokens, and grades what it gets."""

    def _generate(self, prompts):
        prompt_ids, ids, tool_mask, _, *others = super()._generate(prompts)
        width, pad = max(map(len, prompt_ids)), self.processing_class.pad_token_id
        rows = [([pad] * (width - len(p)) + p + own)[len(p) :] for p, own in zip(prompt_ids, ids)]
        texts = self.processing_class.batch_decode(rows, skip_special_tokens=True)
        return prompt_ids, ids, tool_mask, [[{"role": "assistant", "content": text}] for text in texts], *others


class NoStopString(GRPOTrainer):
    """Grades texts without the end of the answer."""

    def _calculate_rewards(self, inputs, prompts, completions, *args, **kwargs):
        shorter = [[{**own, "content": own["content"][:-1]} for own in texts] for texts in completions]
        return super()._calculate_rewards(inputs, prompts, shorter, *args, **kwargs)


class RightPadMask(GRPOTrainer):
    """Places the mask of the completion as if prompts were padded on the right."""

    def _generate_and_score_completions(self, *args, **kwargs):
        output = super()._generate_and_score_completions(*args, **kwargs)
        lengths = output["completion_mask"].sum(1, keepdim=True)
        place = torch.arange(output["prompt_ids"].shape[1], output["prompt_ids"].shape[1] + lengths.max())
        start = output["prompt_mask"].sum(1, keepdim=True)
        output["completion_mask"] = ((place >= start) & (place < start + lengths)).long()
        return output


class Gather(GRPOTrainer):
    """Reads the log-probs of all tokens from the first row of logits."""

    def _get_per_token_logps_and_entropies(self, model, input_ids, attention_mask, logits_to_keep, *args, **kwargs):
        _, *others = super()._get_per_token_logps_and_entropies(
            model, input_ids, attention_mask, logits_to_keep, *args, **kwargs
        )
        logits = model(input_ids=input_ids, attention_mask=attention_mask).logits[:, -logits_to_keep - 1 : -1]
        first = (logits[:, :1] / self.temperature).log_softmax(-1).expand_as(logits)
        return first.gather(2, input_ids[:, -logits_to_keep:, None])[..., 0], *others


class EntropySign(GRPOTrainer):
    """Adds the entropy to the loss."""

    def _compute_loss(self, *args, **kwargs):
        self.entropy_coef = -self.entropy_coef
        try:
            return super()._compute_loss(*args, **kwargs)
        finally:
            self.entropy_coef = -self.entropy_coef


class Retokenised(GRPOTrainer):
    """Scores what a normalised text is encoded to: every 3 as a 2."""

    def _compute_loss(self, model, inputs):
        [three], [two] = (self.processing_class(digit)["input_ids"] for digit in "32")
        ids = inputs["completion_ids"]
        return super()._compute_loss(model, {**inputs, "completion_ids": torch.where(ids == three, two, ids)})


class NoEnd(GRPOTrainer):
    """Leaves the last token out of the mask."""

    def _generate_and_score_completions(self, *args, **kwargs):
        output = super()._generate_and_score_completions(*args, **kwargs)
        output["completion_mask"] = (output["completion_mask"].cumsum(1) < output["completion_mask"].sum(1, keepdim=True)).long()
        return output


class DoubleBos(GRPOTrainer):
    """Encodes the rendered prompt with special tokens, though the template has the BOS."""

    def _tokenize_prompts(self, prompts):
        ids, *others = super()._tokenize_prompts(prompts)
        return [[self.processing_class.bos_token_id, *own] for own in ids], *others


class BaseReference(GRPOTrainer):
    """Its reference is another model than the one that the run begins with."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        with torch.no_grad():
            for p in self.ref_model.parameters():
                p.add_(0.02 * torch.randn_like(p))


def bos_tokenizer():
    tokenizer = tiny_tokenizer(chat=True)
    tokenizer.chat_template = "{{ bos_token }}" + CHAT_TEMPLATE
    return tokenizer


def deaf_tokenizer():
    """Its template does not hear add_generation_prompt."""
    tokenizer = tiny_tokenizer(chat=True)
    tokenizer.chat_template = CHAT_TEMPLATE[: CHAT_TEMPLATE.index("{%- if add_generation_prompt %}")]
    return tokenizer


def open_tokenizer():
    """Its template opens messages and closes none."""
    tokenizer = tiny_tokenizer(chat=True)
    tokenizer.chat_template = CHAT_TEMPLATE.replace("<|end|>", "")
    return tokenizer


def calc_tokenizer():
    """Its template has a token that was added after the model was trained."""
    tokenizer = tiny_tokenizer(chat=True)
    tokenizer.add_tokens(["<calc>"])
    tokenizer.chat_template = CHAT_TEMPLATE.replace("message.role + '\n'", "message.role + '\n<calc>'")
    return tokenizer


def pad_is_end():
    tokenizer = tiny_tokenizer(chat=True)
    tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


# Prompts of different lengths, by more than a completion has.
GREETINGS = ("", "Now, please, and as before: ")

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
    "sampled-again": {"trainer_class": SampledAgain},
    "new-moments": {"trainer_class": NewMoments, "max_steps": 2},
    "noise-behind-clip": {"callbacks": [NoiseBehindClip()]},
    "new-token": {"tokenizer": calc_tokenizer, "resized": True, "beta": 0.0},
    "open-template": {"tokenizer": open_tokenizer},
    "by-the-clock": {"generation_kwargs": {"max_time": 0.0}},
    "scaled-loss": {"trainer_class": ScaledLoss},
    "twice-the-rate": {"trainer_class": TwiceTheRate},
    "dropout": {"model_config": {"attention_dropout": 0.1}},
    "prompt-penalty": {"repetition_penalty": 1.2},
    "other-temperature": {"generation_kwargs": {"temperature": 0.5}},
    "other-template": {"trainer_class": OtherTemplate},
    "raw-prompts": {"trainer_class": RawPrompts},
    "cut-by-count": {"trainer_class": CutByCount, "greetings": GREETINGS},
    "no-stop-string": {"trainer_class": NoStopString},
    "right-pad-mask": {"trainer_class": RightPadMask, "greetings": GREETINGS},
    "gather": {"trainer_class": Gather},
    "entropy-bonus": {"entropy_coef": 0.05},
    "entropy-sign": {"trainer_class": EntropySign, "entropy_coef": 0.05},
    "retokenised": {"trainer_class": Retokenised},
    "no-end": {"trainer_class": NoEnd},
    "double-bos": {"trainer_class": DoubleBos, "tokenizer": bos_tokenizer},
    "base-reference": {"trainer_class": BaseReference},
    "lost-updates": {"model_init_kwargs": {"dtype": "bfloat16"}, "learning_rate": 1e-6},
}


@functools.cache
def model_of(seed: int, **config) -> str:
    return warm_model(Path(tempfile.mkdtemp()), tiny_tokenizer(chat=True), seed, **config)


def run(name: str, seed: int, folder: Path) -> None:
    settings = {"max_steps": 1, "rewards": (right,)} | RUNS[name]
    tokenizer = settings.pop("tokenizer", lambda: tiny_tokenizer(chat=True))()
    model = model_of(seed, **settings.pop("model_config", {}))
    if settings.pop("resized", False):
        model = transformers.AutoModelForCausalLM.from_pretrained(model)
        model.resize_token_embeddings(len(tokenizer))
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
