"""The architectures that have a fixture: small dimensions that still tell every variant apart."""

from dataclasses import dataclass

from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PretrainedConfig,
    PreTrainedModel,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from tiny_tokenizer import END, ENDOFTEXT, SIZE

# Larger than the tokenizer, as in published Qwen folders.
VOCAB = 264
assert VOCAB > SIZE


@dataclass(frozen=True)
class Case:
    architecture: type[PreTrainedModel]
    config: PretrainedConfig
    end_ids: int | list[int]
    chat: bool = True


# `eos_token_id` here differs from generation_config.json: the latter is the one to stop at.
# No `pad_token_id`: torch would withhold the gradient of that token's embedding.
SHARED = dict(
    vocab_size=VOCAB,
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=128,
    bos_token_id=ENDOFTEXT,
    eos_token_id=ENDOFTEXT,
)

# With head_dim 16 the wavelengths are 6, 32, 167 …: below, inside and above the band 16 … 64,
# so that all three branches of the scaling are taken.
LLAMA3_ROPE = dict(
    rope_type="llama3",
    rope_theta=500000.0,
    factor=8.0,
    low_freq_factor=1.0,
    high_freq_factor=4.0,
    original_max_position_embeddings=64,
)


def rope(theta: float) -> dict:
    return dict(rope_type="default", rope_theta=theta)


CASES = {
    "gpt2": Case(
        GPT2LMHeadModel,
        GPT2Config(
            vocab_size=VOCAB,
            n_positions=128,
            n_embd=32,
            n_layer=2,
            n_head=4,
            bos_token_id=ENDOFTEXT,
            eos_token_id=ENDOFTEXT,
        ),
        end_ids=ENDOFTEXT,
        chat=False,
    ),
    "llama3": Case(
        LlamaForCausalLM,
        LlamaConfig(**SHARED, head_dim=16, rope_parameters=LLAMA3_ROPE, rms_norm_eps=1e-5, tie_word_embeddings=False),
        end_ids=[END, ENDOFTEXT],
    ),
    "llama3-tied": Case(
        LlamaForCausalLM,
        LlamaConfig(**SHARED, rope_parameters=rope(500000.0), rms_norm_eps=1e-5, tie_word_embeddings=True),
        end_ids=END,
    ),
    "qwen2": Case(
        Qwen2ForCausalLM,
        Qwen2Config(
            **{**SHARED, "num_hidden_layers": 3},
            rope_parameters=rope(1000000.0),
            rms_norm_eps=1e-6,
            tie_word_embeddings=True,
        ),
        end_ids=[END, ENDOFTEXT],
    ),
    "qwen2-untied": Case(
        Qwen2ForCausalLM,
        Qwen2Config(
            **{**SHARED, "num_key_value_heads": 1},
            rope_parameters=rope(10000.0),
            rms_norm_eps=1e-6,
            tie_word_embeddings=False,
        ),
        end_ids=[END, ENDOFTEXT],
    ),
    "qwen3": Case(
        Qwen3ForCausalLM,
        Qwen3Config(
            **SHARED, head_dim=16, rope_parameters=rope(1000000.0), rms_norm_eps=1e-6, tie_word_embeddings=True
        ),
        end_ids=[END, ENDOFTEXT],
    ),
}
