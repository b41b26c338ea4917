"""The settings, precision and tokenizer that a run declares."""

from __future__ import annotations

import inspect
import math
import os

import jinja2
import torch
import transformers

from .plain import Form
from .rollout import Rollout

# Settings of sampling: ours, transformers', and what leaves the distribution as it is.
SAMPLING = (
    ("topP", "top_p", 1),
    ("topK", "top_k", 0),
    ("minP", "min_p", 0),
    ("repetitionPenalty", "repetition_penalty", 1),
)


def declared(trainer, rollout: Rollout) -> dict:
    args = trainer.args
    scale = getattr(trainer, "scale_rewards", None)
    if getattr(trainer, "multi_objective_aggregation", "sum_then_normalize") != "sum_then_normalize":
        # Each reward is scaled by itself.
        scale = None
    return {
        "rollout": {
            "group": trainer.num_generations,
            "maxNewTokens": most_tokens(trainer),
            "minNewTokens": getattr(getattr(trainer, "generation_config", None), "min_new_tokens", None),
            "temperature": trainer.temperature,
            **sampling(trainer),
        },
        "objective": {
            "loss": getattr(trainer, "loss_type", None),
            "ratio": getattr(trainer, "importance_sampling_level", "token"),
            "clipLow": trainer.epsilon_low,
            "clipHigh": trainer.epsilon_high,
            "delta": getattr(args, "delta", None),
            "offPolicyThreshold": getattr(trainer, "off_policy_mask_threshold", None),
            "oldLogprobs": "detach" if rollout.scored[0].old is None else "recompute",
            "maskTruncated": getattr(trainer, "mask_truncated_completions", None),
        },
        "advantage": {
            "scale": {True: "group", False: "none"}.get(scale, scale),
            "epsilon": 1e-4,
            "ddof": 1,
        },
        "kl": {
            "beta": trainer.beta,
            "estimator": "k3" if trainer.beta else None,
            "biasCorrected": getattr(args, "use_bias_correction_kl", None) if trainer.beta else None,
        },
        "entropy": {
            "coefficient": getattr(trainer, "entropy_coef", None),
            "topShare": getattr(trainer, "top_entropy_quantile", None),
        },
        "optimizer": {
            "learningRate": args.learning_rate,
            "maxGradNorm": args.max_grad_norm,
            "weightDecay": args.weight_decay,
        },
        **lora(trainer),
        "updatesPerRollout": micro_steps(trainer) / args.gradient_accumulation_steps,
        **precision(trainer),
        "activeDropout": rollout.dropout,
        "rewardWeights": trainer.reward_weights.tolist(),
    }


def declared_loss(trainer, rows: int, rollout_tokens: int) -> tuple[Form | None, str | None]:
    """The loss of a micro-batch of `rows` at the first update of a rollout, or why it has no plain form here."""
    args = trainer.args
    loss = getattr(trainer, "loss_type", "none")
    if loss not in ("grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "luspo"):
        return None, f"a plain form of the loss {loss}"
    others = {
        "an entropy bonus that adapts": getattr(trainer, "use_adaptive_entropy", False),
        "a mask of entropies": getattr(trainer, "top_entropy_quantile", 1.0) < 1.0,
        "a mask of what is off policy": getattr(trainer, "off_policy_mask_threshold", None) is not None,
        "a loss of the router": getattr(trainer, "aux_loss_enabled", False),
        "weights of importance": getattr(trainer, "use_vllm", False),
        "a scaled gradient": getattr(trainer.accelerator, "scaler", None) is not None,
    }
    found = [name for name, there in others.items() if there]
    if found:
        return None, f"a plain form of {', '.join(found)}"
    served = getattr(args, "steps_per_generation", None) or args.gradient_accumulation_steps
    return (
        Form(
            loss=loss,
            ratio=getattr(trainer, "importance_sampling_level", "token"),
            beta=trainer.beta,
            bias_corrected=getattr(args, "use_bias_correction_kl", False),
            clip_high=trainer.epsilon_high,
            delta=math.inf if getattr(args, "delta", None) is None else args.delta,
            slopes=(getattr(args, "sapo_temperature_pos", 1.0), getattr(args, "sapo_temperature_neg", 1.0)),
            rows=rows,
            accumulation=getattr(trainer, "current_gradient_accumulation_steps", args.gradient_accumulation_steps),
            max_length=trainer.max_completion_length,
            rollout_tokens=rollout_tokens,
            micro_batches=served,
            entropy=getattr(args, "entropy_coef", 0.0) or 0.0,
        ),
        None,
    )


def most_tokens(trainer) -> int:
    """The limit of a completion: generation may be told another than the trainer declares."""
    told = getattr(getattr(trainer, "generation_config", None), "max_new_tokens", None)
    return told or trainer.max_completion_length


def is_sharded(trainer) -> bool:
    """Whether no process has whole weights."""
    return getattr(trainer, "is_deepspeed_enabled", False) or getattr(trainer, "is_fsdp_enabled", False)


def micro_steps(trainer) -> int:
    """Micro-steps that one generation serves."""
    args = trainer.args
    served = getattr(args, "steps_per_generation", None) or args.gradient_accumulation_steps
    return served * getattr(args, "num_iterations", 1)


def sampling(trainer) -> dict:
    """Sampling as the sampler is told; nothing where `generation_kwargs` says what these terms cannot."""
    known = {"temperature", "max_new_tokens", "min_new_tokens", "do_sample", *(name for _, name, _ in SAMPLING)}
    if set(getattr(trainer.args, "generation_kwargs", None) or {}) - known:
        return {}
    told = getattr(trainer, "generation_config", None) or trainer
    values = {ours: (getattr(told, theirs, None), off) for ours, theirs, off in SAMPLING}
    return {name: off if value is None else value for name, (value, off) in values.items()}


def sampler_temperature(trainer) -> float:
    """Temperature of the sampler; scoring uses `trainer.temperature`."""
    temperature = getattr(getattr(trainer, "generation_config", None), "temperature", None)
    return trainer.temperature if temperature is None else temperature


def precision(trainer) -> dict:
    trained = {p.dtype for p in trainer.model.parameters() if p.requires_grad}
    autocast = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(trainer.accelerator.mixed_precision)
    forward = autocast or trainer.accelerator.unwrap_model(trainer.model).dtype
    precision = {"dtype": str(forward).removeprefix("torch.")}
    # DeepSpeed keeps masters of its own, out of sight.
    if not getattr(trainer, "is_deepspeed_enabled", False):
        precision["masterWeights"] = trained == {torch.float32} and forward != torch.float32
    return precision


# What the trainer has copied from its settings, and reads from then on.
COPIED = (
    "temperature",
    "beta",
    "epsilon_low",
    "epsilon_high",
    "num_generations",
    "num_iterations",
    "max_completion_length",
    "mask_truncated_completions",
    "importance_sampling_level",
    "loss_type",
    "scale_rewards",
)


# A template may be long.
LONGEST_SETTING = 80
# Settings of the sampler that a callback may change.
OF_SAMPLES = ("do_sample", "num_beams", "temperature", "top_k", "top_p", "min_p", "repetition_penalty", "max_new_tokens")
# Parts of the tokenizer that make ids of texts.
OF_TEXTS = ("chat_template", "eos_token_id", "pad_token_id", "bos_token_id", "vocab_size")


def settings(args) -> dict:
    """The fields that TRL adds to transformers' arguments, which name no machine and no secret."""
    common = inspect.signature(transformers.TrainingArguments).parameters
    own = [name for name in inspect.signature(type(args)).parameters if name not in common]
    private = ("vllm_server", "model_init", "log_completions_hub")
    return {name: getattr(args, name) for name in own if not name.startswith(private)}


def effective_settings(trainer) -> dict:
    """The same, and what the trainer has copied."""
    copies = {f"trainer.{name}": getattr(trainer, name) for name in COPIED if hasattr(trainer, name)}
    tokenizer = tokenizer_of(trainer)
    of_texts = {f"tokenizer.{name}": getattr(tokenizer, name) for name in OF_TEXTS if hasattr(tokenizer, name)}
    generation = getattr(trainer, "generation_config", None)
    sampled = {f"generation.{name}": getattr(generation, name) for name in OF_SAMPLES if hasattr(generation, name)}
    return settings(trainer.args) | copies | of_texts | sampled


def changed_settings(began: dict, now: dict) -> list[dict]:
    """Settings that are others than when training began, which TRL may have read by then."""
    changed = [name for name in now if now[name] != began.get(name)]
    return [{"name": name, "from": _short(began.get(name)), "to": _short(now[name])} for name in changed]


def _short(value) -> str:
    text = str(value)
    return text if len(text) <= LONGEST_SETTING else f"{text[:LONGEST_SETTING]}…"


def chosen_by(args) -> dict:
    """How the run chooses its best checkpoint, or when it lowers its rate; empty where it does neither."""
    if getattr(args.lr_scheduler_type, "value", args.lr_scheduler_type) == "reduce_lr_on_plateau":
        greater = (args.lr_scheduler_kwargs or {}).get("mode", "min") == "max"
        return {"bestBy": {"metric": args.metric_for_best_model or "loss", "greaterIsBetter": greater, "lowersRate": True}}
    if not getattr(args, "load_best_model_at_end", False):
        return {}
    return {"bestBy": {"metric": args.metric_for_best_model or "loss", "greaterIsBetter": bool(args.greater_is_better)}}


def lora(trainer) -> dict:
    """Rank and factor of the adapters of PEFT that are trained."""
    configs = getattr(trainer.accelerator.unwrap_model(trainer.model), "peft_config", None) or {}
    config = next(iter(configs.values()), None)
    rank = getattr(config, "r", None)
    return {"lora": {"rank": rank, "alpha": config.lora_alpha}} if isinstance(rank, int) else {}


def search(trainer) -> dict:
    """Whether generation is told to take the likeliest token, and the beams that it is told to follow."""
    told = {"do_sample": True, "num_beams": 1, **(getattr(trainer.args, "generation_kwargs", None) or {})}
    # Generation reads this one, which a callback may have changed.
    own = getattr(trainer, "generation_config", None)
    is_greedy = told["do_sample"] is False or getattr(own, "do_sample", True) is False
    return {"greedy": is_greedy, "beams": told["num_beams"] or 1}


def left_out(trainer) -> list[str]:
    """Tensors that are to be trained and that no group of the optimizer has."""
    # DeepSpeed and FSDP have flat copies.
    if is_sharded(trainer) or trainer.optimizer is None:
        return []
    held = {id(p) for group in trainer.optimizer.param_groups for p in group["params"]}
    model = trainer.accelerator.unwrap_model(trainer.model)
    return [name for name, p in model.named_parameters() if p.requires_grad and id(p) not in held]


def schedules_another(trainer) -> bool:
    """Whether the schedule sets the rates of another optimizer than the one that trains."""
    schedule = getattr(trainer.lr_scheduler, "scheduler", trainer.lr_scheduler)
    scheduled = getattr(schedule, "optimizer", None)
    if is_sharded(trainer) or trainer.optimizer is None or scheduled is None:
        return False
    return scheduled.param_groups is not trainer.optimizer.param_groups


def headless(reward_funcs) -> list[str]:
    """Reward models whose checkpoint has a head for tokens: that for scores has random weights."""
    names = []
    for function in reward_funcs:
        config = getattr(function, "config", None)
        kinds = getattr(config, "architectures", None) or []
        if isinstance(function, torch.nn.Module) and any(kind.endswith(("ForCausalLM", "LMHeadModel")) for kind in kinds):
            names.append(str(getattr(config, "_name_or_path", "") or type(function).__name__).split("/")[-1])
    return names


def tokenizer_of(trainer):
    """The tokenizer, of a processor, too."""
    return getattr(trainer.processing_class, "tokenizer", trainer.processing_class)


def tokenizer_facts(trainer) -> dict:
    tokenizer, model = tokenizer_of(trainer), trainer.accelerator.unwrap_model(trainer.model)
    told = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    ends = {tokenizer.eos_token_id, *(told if isinstance(told, (list, tuple)) else [told])}
    special = {id: str(token) for id, token in tokenizer.added_tokens_decoder.items() if token.special}
    bos = tokenizer.bos_token_id
    begins = tokenizer("a")["input_ids"][:1] == [bos]
    if trainer.processing_class.chat_template or getattr(trainer, "chat_template", None):
        opening, _, closing = template_parts(trainer)
        begins = begins or (tokenizer.bos_token is not None and opening.startswith(tokenizer.bos_token))
        ends |= {id for id in tokenizer(closing, add_special_tokens=False)["input_ids"][:1] if id in special}
    return {
        "vocabularySize": getattr(model.config.get_text_config(), "vocab_size", None),
        "bosId": bos,
        "expectedBos": None if bos is None else int(begins),
        "padId": tokenizer.pad_token_id,
        "endIds": sorted(ends - {None}),
        "specialTokens": special,
        "hasChatTemplate": bool(getattr(tokenizer, "chat_template", None)),
    }


# Words that no template has.
QUESTION, ANSWER, AGAIN = "grpo-trace-question", "grpo-trace-answer", "grpo-trace-again"


def _render(trainer, messages, prompted) -> str:
    return trainer.processing_class.apply_chat_template(
        messages,
        tools=getattr(trainer, "tools", None) or None,
        chat_template=getattr(trainer, "chat_template", None),
        add_generation_prompt=prompted,
        tokenize=False,
        **(getattr(trainer, "chat_template_kwargs", None) or {}),
    )


def around_answer(trainer) -> dict:
    """What the template puts before an answer, and between it and another question."""
    _, header, after = template_parts(trainer)
    turns = [("user", QUESTION), ("assistant", ANSWER), ("user", AGAIN)]
    try:
        more = _render(trainer, [{"role": role, "content": text} for role, text in turns], False)
        between = more.partition(ANSWER)[2].partition(AGAIN)[0]
    except jinja2.TemplateError:
        # A template for one question refuses a second.
        between = after
    return {"assistantHeader": header, "afterAnswer": between}


def template_parts(trainer) -> tuple[str, str, str]:
    """A rendered question, what stands between it and an answer, and what follows the answer."""

    question, answer = ({"role": role, "content": text} for role, text in (("user", QUESTION), ("assistant", ANSWER)))
    closed, opened = _render(trainer, [question], False), _render(trainer, [question], True)
    before, found, after = _render(trainer, [question, answer], False).partition(ANSWER)
    prompt = opened[len(closed) :] if opened.startswith(closed) else ""
    # A template for single turns may drop answers.
    if not found:
        return closed, prompt, ""
    header = before[len(os.path.commonprefix([closed, before])) :]
    # The generation prompt may go on beyond the header, as with an opened <think>.
    longer = prompt and (prompt.startswith(header) or header.startswith(prompt))
    return closed, prompt if longer else header, after
