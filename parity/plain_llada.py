"""LLaDA in plain PyTorch, with the names of its checkpoints: Llama's layers, each place attending to all."""

import math

import torch
from torch import nn

LAYER_NORMS = ("attn_norm", "ff_norm")


class Norm(nn.Module):
    def __init__(self, size: int, eps: float):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        return self.weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype)


def rotated(x: torch.Tensor, theta: float) -> torch.Tensor:
    """[heads, L, head_dim] with each pair (i, i + head_dim / 2) turned by its place times its frequency."""
    length, half = x.shape[1], x.shape[2] // 2
    frequencies = theta ** (-torch.arange(half, dtype=torch.float32) / half)
    angles = torch.outer(torch.arange(length, dtype=torch.float32), frequencies)
    a, b = x.float().split(half, -1)
    return torch.cat([a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()], -1).to(x.dtype)


class Block(nn.Module):
    def __init__(self, config: dict):
        super().__init__()
        width, inner = config["d_model"], config["mlp_hidden_size"]
        self.heads, self.kv_heads = config["n_heads"], config["n_kv_heads"]
        self.head_dim, self.theta = width // self.heads, config["rope_theta"]
        for name in LAYER_NORMS:
            setattr(self, name, Norm(width, config["rms_norm_eps"]))
        kv_width = self.kv_heads * self.head_dim
        shapes = dict(
            q_proj=(width, width), k_proj=(width, kv_width), v_proj=(width, kv_width), attn_out=(width, width),
            ff_proj=(width, inner), up_proj=(width, inner), ff_out=(inner, width),
        )  # fmt: skip
        for name, (inputs, outputs) in shapes.items():
            setattr(self, name, nn.Linear(inputs, outputs, bias=False))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normed = self.attn_norm(x)
        q, k, v = (
            projection(normed).view(len(x), -1, self.head_dim).transpose(0, 1)
            for projection in (self.q_proj, self.k_proj, self.v_proj)
        )
        served = self.heads // self.kv_heads
        k, v = rotated(k, self.theta).repeat_interleave(served, 0), v.repeat_interleave(served, 0)
        scores = rotated(q, self.theta) @ k.transpose(1, 2) / math.sqrt(self.head_dim)
        attended = scores.float().softmax(-1).to(v.dtype) @ v
        x = x + self.attn_out(attended.transpose(0, 1).reshape(len(x), -1))
        normed = self.ff_norm(x)
        return x + self.ff_out(nn.functional.silu(self.ff_proj(normed)) * self.up_proj(normed))


class Llada(nn.Module):
    """The scores of one sequence without padding: ids [L] to logits [L, V]."""

    def __init__(self, config: dict):
        super().__init__()
        rows, width = config["embedding_size"], config["d_model"]
        transformer = nn.Module()
        transformer.wte = nn.Embedding(rows, width)
        transformer.blocks = nn.ModuleList(Block(config) for _ in range(config["n_layers"]))
        transformer.ln_f = Norm(width, config["rms_norm_eps"])
        transformer.ff_out = nn.Linear(width, rows, bias=False)
        self.model = nn.Module()
        self.model.transformer = transformer

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        transformer = self.model.transformer
        x = transformer.wte(ids)
        for block in transformer.blocks:
            x = block(x)
        return transformer.ff_out(transformer.ln_f(x))
