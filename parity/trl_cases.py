"""A tiny chat model, its task, and GRPO runs of TRL with it: what trl_run.py, trl_faults.py and
trl_recorder_neutral.py share.

The task: "Count from 2 to 5." wants "2 3 4 5". A few seconds of supervised training first, so that answers end, and so
that some are right: a record of noise would look sick for reasons of its own.
"""

import random
import sys
import tempfile
from pathlib import Path

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast, Qwen2Config, set_seed
from trl import GRPOConfig, GRPOTrainer

from tiny_tokenizer import END, ENDOFTEXT, SIZE, tiny_tokenizer

sys.path.insert(0, str(Path(__file__).parent.parent / "integrations" / "trl"))
import grpo_trace  # noqa: E402, F401


def question(first: int, last: int) -> list[dict]:
    return [{"role": "user", "content": f"Count from {first} to {last}."}]


def answer(first: int, last: int) -> str:
    return " ".join(map(str, range(first, last + 1)))


SMALL = {
    "hidden_size": 48,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
}

RANGES = [(first, last) for first in range(0, 8) for last in range(first + 1, min(first + 5, 10))]


def dataset(greetings: tuple[str, ...] = ("",)) -> Dataset:
    """Questions of one length, or with a greeting before each, by turns."""
    rows = []
    for i, pair in enumerate(RANGES):
        [message] = question(*pair)
        prompt = [{**message, "content": greetings[i % len(greetings)] + message["content"]}]
        rows.append({"prompt": prompt, "answer": answer(*pair)})
    return Dataset.from_list(rows)


def text_of(completion) -> str:
    return completion if isinstance(completion, str) else completion[0]["content"]


def right(completions, answer, **kwargs) -> list[float]:
    """The share of the answer's words that stand where they belong."""
    pairs = [(text_of(c).split(), a.split()) for c, a in zip(completions, answer, strict=True)]
    return [sum(x == y for x, y in zip(own, gold)) / max(len(own), len(gold)) for own, gold in pairs]


def digits(completions, **kwargs) -> list[float | None]:
    """The share of digits and spaces; nothing for an empty text."""
    texts = [text_of(c) for c in completions]
    return [sum(x in "0123456789 " for x in text) / len(text) if text else None for text in texts]


def warm_model(folder: Path, tokenizer: PreTrainedTokenizerFast, seed: int, steps: int = 110, **config) -> str:
    """A model that answers in the right form, saved to `folder`."""
    set_seed(seed)
    model = AutoModelForCausalLM.from_config(
        Qwen2Config(
            vocab_size=SIZE,
            bos_token_id=ENDOFTEXT,
            eos_token_id=END,
            pad_token_id=tokenizer.pad_token_id,
            **(SMALL | config),
        )
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    chooser = random.Random(seed)
    for _ in range(steps):
        rows = []
        for pair in chooser.sample(RANGES, 16):
            prompt = tokenizer.apply_chat_template(
                question(*pair), add_generation_prompt=True, tokenize=True, return_dict=True
            )["input_ids"]
            rows.append((prompt, tokenizer(answer(*pair))["input_ids"] + [END]))
        width = max(len(prompt) + len(gold) for prompt, gold in rows)
        ids = torch.full((len(rows), width), tokenizer.pad_token_id)
        labels = torch.full((len(rows), width), -100)
        for i, (prompt, gold) in enumerate(rows):
            ids[i, : len(prompt) + len(gold)] = torch.tensor(prompt + gold)
            labels[i, len(prompt) : len(prompt) + len(gold)] = torch.tensor(gold)
        logits = model(input_ids=ids).logits[:, :-1]
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.generation_config.eos_token_id = END
    model.save_pretrained(folder)
    return str(folder)


def trainer_for(
    model: str | None = None,
    seed: int = 1,
    trainer_class=GRPOTrainer,
    tokenizer: PreTrainedTokenizerFast | None = None,
    rewards=(right, digits),
    model_config: dict | None = None,
    warm_steps: int = 110,
    callbacks=None,
    greetings: tuple[str, ...] = ("",),
    **settings,
) -> GRPOTrainer:
    """A trainer of the task in float32 on the CPU, with what the caller changes."""
    folder = tempfile.mkdtemp()
    tokenizer = tokenizer or tiny_tokenizer(chat=True)
    model = model or warm_model(Path(folder) / "model", tokenizer, seed, warm_steps, **(model_config or {}))
    defaults = dict(
        output_dir=f"{folder}/run",
        use_cpu=True,
        bf16=False,
        report_to="none",
        save_strategy="no",
        logging_steps=1,
        disable_tqdm=True,
        seed=seed,
        max_steps=2,
        learning_rate=1e-4,
        per_device_train_batch_size=8,
        gradient_accumulation_steps=2,
        num_generations=4,
        max_completion_length=16,
        beta=0.04,
    )
    return trainer_class(
        model=model,
        reward_funcs=list(rewards),
        args=GRPOConfig(**(defaults | settings)),
        train_dataset=dataset(greetings),
        processing_class=tokenizer,
        callbacks=callbacks,
    )
