"""Real TRL runs, one without a fault and one for each of seven, recorded by integrations/trl/grpo_trace.py.

    python trl_faults.py                      # fixtures/trl-run/<name>/, seed 1
    python trl_faults.py FOLDER SEED [SEED…]  # FOLDER/<name>-<seed>/

The fault is in the run: what the recorder wrote is not touched afterwards.
"""

import sys
import tempfile
from pathlib import Path

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
    "dropout": {"model_config": {"attention_dropout": 0.1}},
    "prompt-penalty": {"repetition_penalty": 1.2},
    "other-temperature": {"generation_kwargs": {"temperature": 0.5}},
    "lost-updates": {"model_init_kwargs": {"dtype": "bfloat16"}, "learning_rate": 1e-6},
}


def run(name: str, seed: int, folder: Path) -> None:
    settings = {"max_steps": 1, "rewards": (right,)} | RUNS[name]
    tokenizer = settings.pop("tokenizer", lambda: tiny_tokenizer(chat=True))()
    config = settings.pop("model_config", {})
    model = warm_model(Path(tempfile.mkdtemp()), tiny_tokenizer(chat=True), seed, **config)
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
        if not seeds:
            run(name, 1, FIXTURES / name)
