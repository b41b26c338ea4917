"""What GRPO costs without this project, on one GPU: transformers' generate, and one plain PyTorch training step.

    python gpu_peer.py --model qwen2.5-0.5b --device cuda --prompts 16 --group 16 --prompt-len 256 --completion-len 256

Both on a model of random weights in bfloat16 with sdpa attention: generate samples every completion at full length with
its own copy of the prompt; the training step scores prompt and completion in micro-batches, takes the loss dapo, goes
back, and takes one step of the fused AdamW. Weights and optimizer are bfloat16, without float32 masters: the fastest
plain step there is. Prints one JSON object, with the rate of a large bfloat16 matrix product on the same device.
"""

import argparse
import json
import statistics
import time

import torch
import transformers
from transformers import Qwen2Config, Qwen2ForCausalLM

SHAPES = {
    "tiny": {
        "vocab_size": 4096,
        "hidden_size": 256,
        "intermediate_size": 1024,
        "num_hidden_layers": 6,
        "num_attention_heads": 8,
    },
    "qwen2.5-0.5b": {
        "vocab_size": 151_936,
        "hidden_size": 896,
        "intermediate_size": 4864,
        "num_hidden_layers": 24,
        "num_attention_heads": 14,
    },
    "qwen2.5-1.5b": {
        "vocab_size": 151_936,
        "hidden_size": 1536,
        "intermediate_size": 8960,
        "num_hidden_layers": 28,
        "num_attention_heads": 12,
    },
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=SHAPES, default="qwen2.5-0.5b")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--prompts", type=int, default=16)
    parser.add_argument("--group", type=int, default=16)
    parser.add_argument("--prompt-len", type=int, default=256)
    parser.add_argument("--completion-len", type=int, default=256)
    parser.add_argument("--micro", type=int, default=32, help="completions of a micro-batch")
    parser.add_argument("--steps", type=int, default=4, help="the first warms up and is not counted")
    return parser.parse_args()


def seconds(device: str, work) -> tuple[float, object]:
    wait = torch.cuda.synchronize if device.startswith("cuda") else lambda: None
    wait()
    start = time.perf_counter()
    result = work()
    wait()
    return time.perf_counter() - start, result


def matrix_gflops(device: str) -> float:
    """10⁹ operations a second of a square product, the median of ten."""
    side = 8192 if device.startswith("cuda") else 1024
    a = torch.randn(side, side, device=device, dtype=torch.bfloat16)
    times = [seconds(device, lambda: a @ a)[0] for _ in range(13)][3:]
    return 2 * side**3 / statistics.median(times) / 1e9


def train(model, optimizer, ids: torch.Tensor, prompt_len: int, micro: int) -> None:
    """One update by all completions, each weighted by an advantage of its own."""
    advantages = torch.linspace(-1, 1, len(ids), device=ids.device)
    tokens = ids[:, prompt_len:].numel()
    for rows, advantage in zip(ids.split(micro), advantages.split(micro), strict=True):
        # The last token predicts nothing, and logits are wanted from the prompt's last on.
        kept = rows.shape[1] - prompt_len
        logits = model(rows[:, :-1], use_cache=False, logits_to_keep=kept).logits.float()
        logprobs = logits.log_softmax(-1).gather(2, rows[:, prompt_len:, None])[..., 0]
        ratio = (logprobs - logprobs.detach()).exp()
        gain = torch.minimum(ratio, ratio.clamp(0.8, 1.2)) * advantage[:, None]
        (-gain.sum() / tokens).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()


def main() -> None:
    work = arguments()
    torch.manual_seed(0)
    shape = SHAPES[work.model]
    config = Qwen2Config(
        **shape, num_key_value_heads=2, max_position_embeddings=32_768, tie_word_embeddings=True
    )
    config._attn_implementation = "sdpa"
    model = Qwen2ForCausalLM(config).to(device=work.device, dtype=torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6, fused=True)
    prompts = torch.randint(shape["vocab_size"], (work.prompts, work.prompt_len), device=work.device)
    inputs = prompts.repeat_interleave(work.group, 0)

    def generate() -> torch.Tensor:
        with torch.no_grad():
            return model.generate(
                inputs,
                attention_mask=torch.ones_like(inputs),
                do_sample=True,
                top_k=0,
                max_new_tokens=work.completion_len,
                min_new_tokens=work.completion_len,
                eos_token_id=shape["vocab_size"] - 1,
                pad_token_id=shape["vocab_size"] - 1,
            )

    generations, updates = [], []
    for _ in range(work.steps):
        spent, ids = seconds(work.device, generate)
        if ids.shape[1] != work.prompt_len + work.completion_len:
            raise RuntimeError(f"generate gave {ids.shape[1] - work.prompt_len} tokens a completion")
        generations.append(spent)
        updates.append(
            seconds(work.device, lambda ids=ids: train(model, optimizer, ids, work.prompt_len, work.micro))[0]
        )
    def median(values: list[float]) -> float:
        return statistics.median(values[1:] or values)

    cuda = work.device.startswith("cuda")
    result = {
        "workload": vars(work),
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
        "device_name": torch.cuda.get_device_name() if cuda else "CPU",
        "generate_s_median": median(generations),
        "train_s_median": median(updates),
        "peak_device_mb": torch.cuda.max_memory_allocated() / 2**20 if cuda else None,
        "matmul_gflops": matrix_gflops(work.device),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
