"""Makes tiny random reward models with transformers, and the scores that transformers gives with them.

Writes fixtures/reward-models/<name>/: a Hugging Face folder and expected.json (see README.md).
"""

import json
import shutil
from pathlib import Path

import torch
import transformers
from transformers import (
    AutoModelForSequenceClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
    LlamaConfig,
    LlamaForSequenceClassification,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForSequenceClassification,
    Qwen3Config,
    Qwen3ForSequenceClassification,
)

from make_model_fixtures import randomize
from model_cases import LLAMA3_ROPE, SHARED, VOCAB, rope
from tiny_tokenizer import ENDOFTEXT, PAD, tiny_tokenizer

FOLDER = Path(__file__).parent / "fixtures" / "reward-models"

SMALL = {**SHARED, "hidden_size": 16, "intermediate_size": 24, "num_labels": 1, "pad_token_id": PAD}

CASES: dict[str, tuple[type[PreTrainedModel], transformers.PretrainedConfig]] = {
    "gpt2": (
        GPT2ForSequenceClassification,
        # Its dropout is on by default: a score in training mode would differ from call to call.
        GPT2Config(
            vocab_size=VOCAB,
            n_positions=128,
            n_embd=16,
            n_layer=2,
            n_head=4,
            num_labels=1,
            pad_token_id=PAD,
            bos_token_id=ENDOFTEXT,
            eos_token_id=ENDOFTEXT,
        ),
    ),
    "llama3": (
        LlamaForSequenceClassification,
        LlamaConfig(**SMALL, head_dim=8, rope_parameters=LLAMA3_ROPE, rms_norm_eps=1e-5),
    ),
    "qwen2": (Qwen2ForSequenceClassification, Qwen2Config(**SMALL, rope_parameters=rope(1000000.0))),
    "qwen3": (Qwen3ForSequenceClassification, Qwen3Config(**SMALL, head_dim=8, rope_parameters=rope(1000000.0))),
}

QUESTION = [{"role": "user", "content": "What is the other name of the sea?"}]
TALK = [{"role": "system", "content": "Be brief."}, *QUESTION]
PAIRS = [
    (QUESTION, "The ocean."),
    (TALK, "The ocean."),
    (TALK, "The ocean, the great water that all rivers run to."),
    (TALK, "é 海 \U0001f30a"),
    (TALK, ""),
    ("Q: 1+1?\nA:", " 2"),
    ("Q: 1+1?\nA:", " 3, the number between 2 and 4"),
    # The padding token at the end is not looked at, wherever it comes from.
    ("Q: 1+1?\nA:", " 2<|pad|><|pad|>"),
    ("", "a"),
]


def text_of(tokenizer: PreTrainedTokenizerFast, prompt, completion: str) -> str:
    """As TRL's GRPOTrainer puts them together; a plain prompt is a user's message where there is a template."""
    if tokenizer.chat_template is None:
        return prompt + completion
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    return tokenizer.apply_chat_template([*messages, {"role": "assistant", "content": completion}], tokenize=False)


def scores_of(model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, texts: list[str]) -> list[float]:
    """All in one batch, padded on the right."""
    inputs = tokenizer(texts, return_tensors="pt", padding=True, padding_side="right", add_special_tokens=False)
    with torch.inference_mode():
        return model(**inputs).logits[:, 0].float().tolist()


def make(name: str, seed: int) -> None:
    architecture, config = CASES[name]
    config._attn_implementation = "eager"
    model = architecture(config).eval()
    randomize(model, torch.Generator().manual_seed(seed))
    folder = FOLDER / name
    if folder.exists():
        shutil.rmtree(folder)
    model.save_pretrained(folder)
    tokenizer = tiny_tokenizer(chat=name != "gpt2")
    tokenizer.save_pretrained(folder)

    pairs = [pair for pair in PAIRS if tokenizer.chat_template is not None or isinstance(pair[0], str)]
    texts = [text_of(tokenizer, *pair) for pair in pairs]
    scores = {}
    for dtype in ("float32", "bfloat16"):
        loaded = AutoModelForSequenceClassification.from_pretrained(
            folder, dtype=getattr(torch, dtype), attn_implementation="eager"
        ).eval()
        scores[dtype] = scores_of(loaded, tokenizer, texts)
    cases = [
        {"prompt": prompt, "completion": completion, "ids": tokenizer(text, add_special_tokens=False).input_ids}
        for (prompt, completion), text in zip(pairs, texts, strict=True)
    ]
    versions = {"transformers": transformers.__version__, "torch": torch.__version__.split("+")[0]}
    expected = {**versions, "cases": cases, **scores}
    (folder / "expected.json").write_text(json.dumps(expected, ensure_ascii=False) + "\n")
    print(name, sum(file.stat().st_size for file in folder.iterdir()), [round(score, 3) for score in scores["float32"]])


def main() -> None:
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    for seed, name in enumerate(CASES):
        make(name, seed)


if __name__ == "__main__":
    main()
