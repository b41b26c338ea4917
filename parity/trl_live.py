"""Runs TRL's GRPOTrainer on a tiny chat model, in float32 on the CPU, and writes what it computed: for trl_live.mjs.

    python trl_live.py DIR

DIR/model/ is the model as saved by transformers; each run has a .json with rollouts, micro-steps and logged metrics,
and a .safetensors with the weights before each update (`weights.<update>.<parameter>`) and after the last one, and the
gradient of each update before clipping (`gradient.<update>.<parameter>`). Trajectories have the first and the last
weights only, and those that TRL ends at with another attention kernel (`again.<parameter>`).
"""

import json
import re
import sys
from pathlib import Path

import torch
import transformers
import trl
from safetensors.torch import save_file

from tiny_tokenizer import tiny_tokenizer
from trl_cases import digits, right, text_of, trainer_for, warm_model
from trl_watched import Again, Watched, WatchedAtEnds


def spread(completions, **kwargs) -> list[float]:
    """Another number for nearly every text: where a reward is just the mean, rounding decides the advantage's sign."""
    return [sum((i + 1) * ord(x) for i, x in enumerate(text_of(c))) * 0.6180339887 % 1 for c in completions]


# Large enough that ratios leave the clip range within one rollout.
FAST = {"learning_rate": 1e-3, "lr_scheduler_type": "constant"}
TWICE = {"num_iterations": 2, "max_steps": 4, "beta": 0.04, "epsilon": 0.03, "epsilon_high": 0.05, **FAST}
LOSSES = ("grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo")
SEQUENCE = {"importance_sampling_level": "sequence", "epsilon": 0.01, "epsilon_high": 0.02}
HALVES = {"num_iterations": 1, "steps_per_generation": 4}
PLAIN_KL = {"use_bias_correction_kl": False}
FOUR = {"gradient_accumulation_steps": 4}
# A shorter limit than elsewhere: more completions do not end.
MASKED = {"mask_truncated_completions": True, "max_completion_length": 7}
# Twenty updates that move the weights visibly but keep the runs comparable.
LONG = {"max_steps": 20, "num_iterations": 2, "beta": 0.04, "learning_rate": 1e-4, "lr_scheduler_type": "constant"}


def of(loss: str) -> dict:
    """For cispo `epsilon_high` bounds the ratio itself."""
    return {"loss_type": loss} | ({"epsilon_high": 1.02} if loss == "cispo" else {})


RUNS = {
    **{f"{loss}, on policy, beta 0": {**of(loss), "beta": 0.0, **FAST} for loss in LOSSES},
    **{f"{loss}, two updates a rollout": {**TWICE, **of(loss)} for loss in LOSSES},
    **{f"{loss}, sequence ratio, two updates a rollout": {**TWICE, **SEQUENCE, **of(loss)} for loss in LOSSES},
    "dapo, scale batch": {**TWICE, **of("dapo"), "scale_rewards": "batch"},
    "grpo, scale none": {**TWICE, **of("grpo"), "scale_rewards": "none"},
    **{f"{loss}, four steps a generation, two an update": {**TWICE, **of(loss), **HALVES} for loss in ("dapo", "grpo")},
    **{f"{loss}, accumulation 4": {**TWICE, **of(loss), **FOUR} for loss in ("dapo", "bnpo")},
    **{f"{loss}, truncated masked": {**TWICE, **of(loss), **MASKED} for loss in ("dapo", "grpo")},
    **{f"{loss}, KL without bias correction": {**TWICE, **of(loss), **PLAIN_KL} for loss in ("dapo", "grpo")},
    "dapo, temperature 0.8": {**TWICE, **of("dapo"), "temperature": 0.8},
    "grpo, delta, top entropy 0.6": {**TWICE, **of("grpo"), "delta": 1.1, "top_entropy_quantile": 0.6},
    "dapo, entropy bonus": {**TWICE, **of("dapo"), "entropy_coef": 0.05},
}
TRAJECTORIES = {
    "dapo": {**LONG, **of("dapo")},
    "grpo, sequence ratio": {**LONG, **SEQUENCE, **of("grpo")},
    "cispo, accumulation 4": {**LONG, **of("cispo"), **FOUR},
    "dapo, AdamW epsilon 1e-6": {**LONG, **of("dapo"), "adam_epsilon": 1e-6},
}
SEEDS = range(1, 9)

SETTINGS = (
    "loss_type importance_sampling_level epsilon epsilon_high delta beta use_bias_correction_kl scale_rewards "
    "num_generations reward_weights temperature top_entropy_quantile entropy_coef mask_truncated_completions "
    "max_completion_length sapo_temperature_pos sapo_temperature_neg gradient_accumulation_steps "
    "steps_per_generation num_iterations per_device_train_batch_size learning_rate adam_beta1 adam_beta2 "
    "adam_epsilon weight_decay max_grad_norm"
).split()
COMMON = {
    "rewards": (right, digits, spread),
    "reward_weights": [1.0, 0.5, 0.3],
    "num_generations": 4,
    "per_device_train_batch_size": 6,
    "gradient_accumulation_steps": 2,
    "max_completion_length": 12,
    "gradient_checkpointing": False,
    "seed": 7,
}


def run(folder: Path, settings: dict) -> Watched:
    trainer = trainer_for(str(folder / "model"), trainer_class=Watched, **COMMON | settings)
    trainer.train()
    trainer.keep_last()
    return trainer


def trajectory(folder: Path, settings: dict) -> Watched:
    """Learns twice from the same completions: nothing but the rounding of attention differs."""
    settings = COMMON | settings
    trainer = trainer_for(str(folder / "model"), trainer_class=WatchedAtEnds, **settings)
    trainer.train()
    trainer.keep_last()
    eager = {"attn_implementation": "eager"}
    again = trainer_for(str(folder / "model"), trainer_class=Again, model_init_kwargs=eager, **settings)
    again.follow(trainer)
    again.train()
    for parameter, value in again.model.named_parameters():
        trainer.tensors[f"again.{parameter}"] = value.detach().clone().contiguous()
    return trainer


def write(folder: Path, kind: str, name: str, trainer: Watched) -> None:
    record = {
        "kind": kind,
        "name": name,
        "versions": {"TRL": trl.__version__, "transformers": transformers.__version__, "PyTorch": torch.__version__},
        "settings": {key: getattr(trainer.args, key) for key in SETTINGS}
        | {
            "epsilon_high": trainer.epsilon_high,
            "scale_rewards": trainer.scale_rewards,
            "endId": trainer.processing_class.eos_token_id,
            "rewardNames": trainer.reward_func_names,
            "seed": trainer.args.seed,
        },
        "rollouts": trainer.rollouts,
        "microSteps": trainer.micro_steps,
        "logged": [entry for entry in trainer.state.log_history if "grad_norm" in entry],
    }
    file = re.sub(r"\W+", "-", f"{kind} {name} {trainer.args.seed}")
    (folder / f"{file}.json").write_text(json.dumps(record))
    save_file(trainer.tensors, folder / f"{file}.safetensors")
    print(f"recorded: {file}", flush=True)


def main() -> None:
    folder = Path(sys.argv[1])
    tokenizer = tiny_tokenizer(chat=True)
    # Random weights and a little training: some completions end, and some do not.
    warm_model(folder / "model", tokenizer, seed=3, steps=60)
    tokenizer.save_pretrained(folder / "model")
    # Or transformers gives the embedding of that token no gradient, also where the model sampled it.
    config = folder / "model" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"pad_token_id": None}))
    for name, settings in RUNS.items():
        write(folder, "updates", name, run(folder, settings))
    for name, settings in TRAJECTORIES.items():
        for seed in SEEDS:
            write(folder, "trajectory", name, trajectory(folder, settings | {"seed": seed}))


if __name__ == "__main__":
    main()
