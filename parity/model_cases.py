"""The architectures that have a fixture: small dimensions that still tell every variant apart."""

from dataclasses import dataclass, field

from transformers import (
    Gemma2Config,
    Gemma2ForCausalLM,
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    GPT2Config,
    GPT2LMHeadModel,
    GraniteConfig,
    GraniteForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Olmo2Config,
    Olmo2ForCausalLM,
    Phi3Config,
    Phi3ForCausalLM,
    PretrainedConfig,
    PreTrainedModel,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
    SmolLM3Config,
    SmolLM3ForCausalLM,
)

from model_features import Feature, norm_offset, unscaled_embeddings, with_config, without_modules
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
    # Standard deviation of the token embeddings.
    embedding: float = 0.25
    # Each has to move the logits when it is switched off.
    features: dict[str, Feature] = field(default_factory=dict)


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


# Shorter than three of the four prompts, and than all that is generated.
WINDOW = 8
# `None` here too, as these families have a default: torch would withhold the gradient of that token's embedding.
NO_PAD = dict(pad_token_id=None)
SLIDING, FULL = "sliding_attention", "full_attention"


def layered_ropes(local: float, full: dict) -> dict:
    """Gemma 3 turns the heads of its windowed layers by frequencies of their own."""
    return {SLIDING: rope(local), FULL: full}


def linear(theta: float, factor: float) -> dict:
    return dict(rope_type="linear", rope_theta=theta, factor=factor)


GEMMA3_SCALED = linear(20000.0, 8.0)


def longrope(**changes) -> dict:
    # Three of four pairs of a head of 8 are turned. Long factors hold beyond 128 positions, which nothing here reaches.
    return dict(
        rope_type="longrope",
        rope_theta=10000.0,
        partial_rotary_factor=0.75,
        original_max_position_embeddings=128,
        short_factor=[1.0, 1.7, 2.6],
        long_factor=[1.0, 4.0, 9.0],
        **changes,
    )


def gemma3(full: dict, **changes) -> Gemma3TextConfig:
    return Gemma3TextConfig(
        **{**SHARED, "num_hidden_layers": 3, "intermediate_size": 32, **NO_PAD},
        head_dim=16,
        query_pre_attn_scalar=100,
        sliding_window=WINDOW,
        layer_types=[SLIDING, FULL, SLIDING],
        rope_parameters=layered_ropes(100.0, full),
        **changes,
    )


GEMMA_FEATURES = {
    "window": with_config(sliding_window=1024),
    "attention scale": with_config(query_pre_attn_scalar=16),
    "norms' offset": norm_offset,
    "norm after attention": without_modules("post_attention_layernorm"),
    "norm before the MLP": without_modules("pre_feedforward_layernorm"),
    "norm after the MLP": without_modules("post_feedforward_layernorm"),
    "embedding scale": unscaled_embeddings,
    "tanh of GELU": with_config(hidden_activation="silu"),
}
GEMMA3_FEATURES = {
    **GEMMA_FEATURES,
    "all layers have windows": with_config(layer_types=[SLIDING] * 3),
    "no layer has a window": with_config(layer_types=[FULL] * 3),
    "query norm": without_modules("q_norm"),
    "key norm": without_modules("k_norm"),
}

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
    "mistral": Case(
        MistralForCausalLM,
        MistralConfig(
            **SHARED, head_dim=16, sliding_window=WINDOW, rope_parameters=rope(10000.0), rms_norm_eps=1e-5
        ),
        end_ids=[END, ENDOFTEXT],
        features={"window": with_config(sliding_window=None), "a window of one more": with_config(sliding_window=9)},
    ),
    "gemma2": Case(
        Gemma2ForCausalLM,
        Gemma2Config(
            **{**SHARED, "num_hidden_layers": 3, "intermediate_size": 32},
            **NO_PAD,
            head_dim=16,
            query_pre_attn_scalar=100,
            sliding_window=WINDOW,
            rope_parameters=rope(10000.0),
            attn_logit_softcapping=2.0,
            final_logit_softcapping=6.0,
        ),
        end_ids=[END, ENDOFTEXT],
        embedding=0.12,
        features={
            **GEMMA_FEATURES,
            "windows in the other layers": with_config(layer_types=[FULL, SLIDING, FULL]),
            "soft cap of scores": with_config(attn_logit_softcapping=None),
            "soft cap of logits": with_config(final_logit_softcapping=None),
        },
    ),
    "gemma3": Case(
        Gemma3ForCausalLM,
        gemma3(rope(20000.0)),
        end_ids=[END, ENDOFTEXT],
        embedding=0.12,
        features={
            **GEMMA3_FEATURES,
            "local rope": with_config(rope_parameters=layered_ropes(20000.0, rope(20000.0))),
            "global rope": with_config(rope_parameters=layered_ropes(100.0, rope(100.0))),
        },
    ),
    "gemma3-scaled": Case(
        Gemma3ForCausalLM,
        gemma3(GEMMA3_SCALED),
        end_ids=[END, ENDOFTEXT],
        embedding=0.12,
        features={
            **GEMMA3_FEATURES,
            "scaling of the global rope": with_config(rope_parameters=layered_ropes(100.0, rope(20000.0))),
        },
    ),
    "smollm3": Case(
        SmolLM3ForCausalLM,
        SmolLM3Config(
            **{**SHARED, "num_hidden_layers": 4},
            **NO_PAD,
            rope_parameters=rope(5000.0),
            no_rope_layers=[1, 0, 1, 0],
            tie_word_embeddings=True,
        ),
        end_ids=[END, ENDOFTEXT],
        features={
            "layers without positions": with_config(no_rope_layers=[1, 1, 1, 1]),
            "layers with positions": with_config(no_rope_layers=[0, 0, 0, 0]),
            "which layers": with_config(no_rope_layers=[0, 1, 0, 1]),
        },
    ),
    "phi3": Case(
        Phi3ForCausalLM,
        Phi3Config(
            **{**SHARED, "num_hidden_layers": 3, "max_position_embeddings": 512},
            **NO_PAD,
            original_max_position_embeddings=128,
            sliding_window=WINDOW,
            rope_parameters=longrope(),
            tie_word_embeddings=True,
        ),
        end_ids=[END, ENDOFTEXT],
        features={
            "window": with_config(sliding_window=None),
            "short factors": with_config(rope_parameters=longrope() | dict(short_factor=[1.0, 1.0, 1.0])),
            "attention factor": with_config(rope_parameters=longrope(attention_factor=1.0)),
            "partial rotation": with_config(rope_parameters=rope(10000.0) | dict(partial_rotary_factor=1.0)),
        },
    ),
    "olmo2": Case(
        Olmo2ForCausalLM,
        Olmo2Config(
            **{**SHARED, "num_hidden_layers": 3, "intermediate_size": 40},
            **NO_PAD,
            rope_parameters=rope(500000.0),
            rms_norm_eps=1e-6,
        ),
        end_ids=[END, ENDOFTEXT],
        features={
            "query norm": without_modules("q_norm"),
            "key norm": without_modules("k_norm"),
            "norm after attention": without_modules("post_attention_layernorm"),
            "norm after the MLP": without_modules("post_feedforward_layernorm"),
        },
    ),
    "granite": Case(
        GraniteForCausalLM,
        GraniteConfig(
            **{**SHARED, "num_hidden_layers": 4},
            rope_parameters=rope(10000.0),
            tie_word_embeddings=True,
            embedding_multiplier=2.5,
            attention_multiplier=0.25,
            residual_multiplier=0.8,
            logits_scaling=1.5,
        ),
        end_ids=[END, ENDOFTEXT],
        features={
            "embedding multiplier": with_config(embedding_multiplier=1.0),
            "attention multiplier": with_config(attention_multiplier=8**-0.5),
            "residual multiplier": with_config(residual_multiplier=1.0),
            "logits' divisor": with_config(logits_scaling=1.0),
        },
    ),
}
