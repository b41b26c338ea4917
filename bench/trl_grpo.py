"""TRL's side of the comparison: GRPO steps on random weights and random prompts, timed.

    python trl_grpo.py --model tiny --prompt-len 64 --completion-len 64 --group 8 --prompts 8 --steps 4

Flags and JSON keys are those of `grpo bench`, and so is the work: weights of the same shapes, prompts of random words, the
end token forbidden, or forced at a random length of each completion, the loss dapo, AdamW, one update a rollout.
Nothing is downloaded. Two keys are this side's own: `generate_s_median` is the generation within `rollout_s_median`, which
in TRL has rewards and the reference's log-probs as well; `versions` names the libraries.

With --bf16 the weights stay float32 and TRL's autocast computes in bfloat16: training in bf16 as TRL's users have it.
"""

import argparse
import functools
import json
import os
import random
import resource
import statistics
import tempfile
import time
from collections import defaultdict

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import transformers
import trl
from datasets import Dataset
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LogitsProcessor,
    LogitsProcessorList,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
)

VOCABULARY = {"tiny": 4096, "gpt2-124m": 50_257, "qwen2.5-0.5b": 151_936}
# Hidden size, intermediate size, layers, heads, key heads.
QWEN = {"tiny": (256, 1024, 6, 8, 2), "qwen2.5-0.5b": (896, 4864, 24, 14, 2)}
PROMPTS = 256
SHORTEST = 4


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=VOCABULARY, default="tiny")
    parser.add_argument("--prompt-len", type=int, default=64, help="tokens of each prompt")
    parser.add_argument("--completion-len", type=int, default=64, help="tokens of each completion")
    parser.add_argument("--group", type=int, default=8, help="completions of each prompt")
    parser.add_argument("--prompts", type=int, default=8, help="prompts of each step")
    parser.add_argument("--steps", type=int, default=4, help="the first warms up and is not counted")
    parser.add_argument("--beta", type=float, default=0.0, help="weight of the KL to the reference")
    parser.add_argument("--micro", type=int, default=0, help="completions of a micro-batch; 0: all of the step")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument(
        "--random-lengths", action="store_true", help=f"completions of {SHORTEST} to completion-len tokens"
    )
    return parser.parse_args()


def random_model(name: str) -> transformers.PreTrainedModel:
    if name == "gpt2-124m":
        return GPT2LMHeadModel(GPT2Config(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0))
    hidden, intermediate, layers, heads, key_heads = QWEN[name]
    shape = Qwen2Config(
        vocab_size=VOCABULARY[name],
        hidden_size=hidden,
        intermediate_size=intermediate,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=key_heads,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
    )
    return Qwen2ForCausalLM(shape)


def word_tokenizer(size: int) -> PreTrainedTokenizerFast:
    """Every id is a word, w0, w1, …; the last two are padding and the end."""
    words = {f"w{i}": i for i in range(size - 2)}
    inner = Tokenizer(WordLevel({**words, "<pad>": size - 2, "<eos>": size - 1}, unk_token="w0"))
    inner.pre_tokenizer = WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", eos_token="<eos>", padding_side="left"
    )


def random_prompts(words: int, length: int) -> Dataset:
    rows = [" ".join(f"w{random.randrange(words)}" for _ in range(length)) for _ in range(PROMPTS)]
    return Dataset.from_dict({"prompt": rows})


def distinct_words(completions: list[str], **_) -> list[float]:
    """A reward that differs within a group and costs nothing."""
    return [float(len(set(text.split())) % 7) for text in completions]


class EndAt(LogitsProcessor):
    """Ends row i with its lengths[i]-th token, and not before."""

    def __init__(self, lengths: torch.Tensor, prompt_width: int, end: int):
        self.lengths, self.prompt_width, self.end = lengths, prompt_width, end

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        scores[:, self.end] = -torch.inf
        ending = input_ids.shape[1] - self.prompt_width >= self.lengths - 1
        scores[ending] = -torch.inf
        scores[ending, self.end] = 0.0
        return scores


def end_at_random(model: transformers.PreTrainedModel, longest: int, end: int) -> None:
    """Has each completion end at a length of its own, uniform in SHORTEST … longest."""
    draws = torch.Generator().manual_seed(1)
    generate = model.generate

    def ending(*args, input_ids: torch.Tensor, **others):
        rows, width = input_ids.shape
        lengths = torch.randint(SHORTEST, longest + 1, (rows,), generator=draws)
        forced = LogitsProcessorList([EndAt(lengths, width, end)])
        return generate(*args, input_ids=input_ids, logits_processor=forced, **others)

    model.generate = ending


def time_calls(owner: object, method: str, seconds: dict[str, list[float]]) -> None:
    call = getattr(owner, method)

    @functools.wraps(call)
    def timed(*args, **others):
        start = time.perf_counter()
        result = call(*args, **others)
        seconds[method].append(time.perf_counter() - start)
        return result

    setattr(owner, method, timed)


def median(values: list[float]) -> float:
    """Without the first, which warms up, where there are others."""
    return statistics.median(values[1:] or values)


def main() -> None:
    work = arguments()
    torch.set_num_threads(work.threads)
    torch.manual_seed(0)
    random.seed(0)
    size = VOCABULARY[work.model]
    tokenizer, policy = word_tokenizer(size), random_model(work.model)
    params = sum(weights.numel() for weights in policy.parameters())
    completions = work.group * work.prompts
    micro = work.micro or completions
    seconds: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        # TRL loads the reference from the folder that the policy came from.
        model = os.path.join(folder, "model")
        policy.save_pretrained(model)
        tokenizer.save_pretrained(model)
        del policy
        config = trl.GRPOConfig(
            output_dir=folder,
            model_init_kwargs={"dtype": "float32"},
            loss_type="dapo",
            beta=work.beta,
            temperature=1.0,
            num_generations=work.group,
            per_device_train_batch_size=micro,
            gradient_accumulation_steps=completions // micro,
            max_completion_length=work.completion_len,
            generation_kwargs={} if work.random_lengths else {"min_new_tokens": work.completion_len},
            learning_rate=1e-6,
            max_steps=work.steps,
            bf16=work.bf16,
            gradient_checkpointing=False,
            use_cpu=True,
            logging_steps=1,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
        )
        trainer = trl.GRPOTrainer(
            model=model,
            reward_funcs=distinct_words,
            args=config,
            train_dataset=random_prompts(size - 2, work.prompt_len),
            processing_class=tokenizer,
        )
        if work.random_lengths:
            end_at_random(trainer.model, work.completion_len, size - 1)
        time_calls(trainer, "_generate", seconds)
        time_calls(trainer, "_generate_and_score_completions", seconds)
        trainer.train()
    steps = [entry for entry in trainer.state.log_history if "step_time" in entry]
    lengths = [entry["completions/mean_length"] for entry in steps]
    step = median([entry["step_time"] for entry in steps])
    rollout = median(seconds["_generate_and_score_completions"])
    result = {
        "workload": vars(work),
        "torch": torch.__version__,
        "versions": {"trl": trl.__version__, "transformers": transformers.__version__},
        "params": params,
        "step_s_median": step,
        "rollout_s_median": rollout,
        "generate_s_median": median(seconds["_generate"]),
        "train_s_median": step - rollout,
        "mean_length": sum(lengths) / len(lengths),
        "rollout_tok_per_s": completions * lengths[-1] / rollout,
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "loss": [entry["loss"] for entry in steps],
        "kl": [entry.get("kl") for entry in steps],
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
