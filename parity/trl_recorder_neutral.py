"""Shows that the recorder changes no number of a TRL run, that it fails loudly, and what it costs.

Trains twice from the same weights and seed, attached and not, in several settings, and compares every logged number and
every final weight exactly. Exits 1 when any differs, when an audit of these healthy runs disagrees, or when a trainer that
was detached is not as it was. Arguments choose settings by name. `--time` measures a larger model instead (one thread).
"""

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import torch
from transformers import TrainerCallback
from trl import GRPOTrainer

from tiny_tokenizer import tiny_tokenizer
from trl_cases import grpo_trace, trainer_for, warm_model
from trl_faults import Overriding

SETTINGS = {
    "default": {},
    "dropout, bf16 autocast": {"bf16": True, "model_config": {"attention_dropout": 0.1}},
    "two iterations of two updates": {"steps_per_generation": 4, "num_iterations": 2, "max_steps": 6},
    "several generations an update": {"steps_per_generation": 1, "gradient_accumulation_steps": 2, "beta": 0.0},
    "temperature, top-k, penalty": {"temperature": 0.7, "top_k": 20, "repetition_penalty": 1.1},
    "a subclass that overrides": {"trainer_class": Overriding},
    "bf16 autocast": {"bf16": True},
    "cispo, decay, warm-up": {"loss_type": "cispo", "weight_decay": 0.1, "warmup_steps": 2, "max_steps": 3},
    "bf16 weights": {"model_init_kwargs": {"dtype": "bfloat16"}, "loss_type": "grpo"},
}
# Clocks are no numbers of the run.
CLOCKS = ("runtime", "per_second", "step_time")


def run(model: str, recorded: bool, **settings):
    trainer = trainer_for(model, **settings)
    folder = Path(tempfile.mkdtemp())
    kind, attributes, functions = type(trainer), set(vars(trainer)), trainer.reward_funcs
    recording = grpo_trace.attach(trainer, folder, every=1) if recorded else None
    trainer.train()
    if recording is not None:
        recording.detach()
        left = {name for name in set(vars(trainer)) - attributes if hasattr(vars(trainer)[name], "listeners")}
        if type(trainer) is not kind or trainer.reward_funcs is not functions or left:
            sys.exit(f"detached, the trainer is not as it was: {type(trainer)}, {left}")
    history = [
        {key: value for key, value in entry.items() if not any(clock in key for clock in CLOCKS)}
        for entry in trainer.state.log_history
    ]
    return history, trainer.model.state_dict(), sorted(folder.glob("steps/*/step.json"))


def compare(name: str, model_config=None, **settings) -> bool:
    model = warm_model(Path(tempfile.mkdtemp()), tiny_tokenizer(chat=True), 1, **(model_config or {}))
    plain, weights, _ = run(model, False, **settings)
    watched, watched_weights, records = run(model, True, **settings)
    equal = plain == watched and all(torch.equal(weights[key], watched_weights[key]) for key in weights)
    numbers = sum(len(entry) for entry in plain)
    verdict = "equal" if equal else "DIFFERENT"
    print(f"{verdict}: {name}: {numbers} numbers, {len(weights)} weights, {len(records)} records")
    return equal and len(records) > 0 and agrees(records)


def agrees(records: list[Path]) -> bool:
    """Prints the audits' largest deviation by quantity, as a share of its bound."""
    shares = {}
    for path in records:
        for one in json.loads(path.read_text()).get("audit", {}).get("comparisons", []):
            deviation, bound = float(one["deviation"]), float(one["bound"])
            share = 0.0 if deviation == 0 else deviation / bound if bound else float("inf")
            key = f"{one['handOver']}, {one['quantity']}"
            shares[key] = max(shares.get(key, 0.0), share)
    for key, share in shares.items():
        if share > 0:
            print(f"    {share:8.5f} of the bound: {key}")
    return all(share <= 1 for share in shares.values())


def fails_loudly() -> bool:
    """Without an essential method, attached twice, or where nothing is recorded, it raises."""

    class NoLoss(GRPOTrainer):
        compute_loss = None

    class NeverScores(GRPOTrainer):
        def _prepare_inputs(self, batch):
            self.mine = True
            return super()._prepare_inputs(batch)

        def training_step(self, model, inputs, num_items_in_batch):
            self._step += 1
            return sum((p.sum() * 0 for p in model.parameters()), torch.zeros(())).detach()

    outcomes = []
    try:
        grpo_trace.attach(trainer_for(trainer_class=NoLoss), tempfile.mkdtemp())
    except grpo_trace.RecorderError as error:
        outcomes.append(str(error))
    trainer = trainer_for()
    grpo_trace.attach(trainer, tempfile.mkdtemp())
    try:
        grpo_trace.attach(trainer, tempfile.mkdtemp())
    except grpo_trace.RecorderError as error:
        outcomes.append(str(error))
    trainer = trainer_for(trainer_class=NeverScores)
    grpo_trace.attach(trainer, tempfile.mkdtemp())
    try:
        trainer.train()
    except grpo_trace.RecorderError as error:
        outcomes.append(str(error))
    for outcome in outcomes:
        print(f"says: {outcome}")
    return len(outcomes) == 3


class StepTimes(TrainerCallback):
    def __init__(self):
        self.ends = []

    def on_step_end(self, args, state, control, **kwargs):
        self.ends.append(time.process_time())


def measure(steps: int = 24) -> None:
    """Processor seconds of a step, recorded and not by turns, on a model of 20 million weights."""
    tokenizer = tiny_tokenizer(chat=True)
    config = dict(hidden_size=512, intermediate_size=1536, num_hidden_layers=6, num_attention_heads=8)
    model = warm_model(Path(tempfile.mkdtemp()), tokenizer, 1, steps=3, **config)
    trainer = trainer_for(model, max_steps=steps, max_completion_length=64, learning_rate=0.0)
    grpo_trace.attach(trainer, tempfile.mkdtemp(), every=2)
    # After the recorder's callback, which writes.
    times = StepTimes()
    trainer.add_callback(times)
    trainer.train()
    taken = [later - earlier for earlier, later in zip(times.ends, times.ends[1:])]
    recorded, plain = statistics.median(taken[2::2]), statistics.median(taken[1::2])
    print(f"{plain:.3f} s a step, {recorded:.3f} s a recorded one: {100 * (recorded / plain - 1):.1f} % more")


if __name__ == "__main__":
    if "--time" in sys.argv:
        measure()
    else:
        names = sys.argv[1:] or SETTINGS
        results = [compare(name, **SETTINGS[name]) for name in names] + [fails_loudly()]
        sys.exit(0 if all(results) else 1)
