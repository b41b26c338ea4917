"""A byte-level BPE tokenizer of 263 ids, so that a fixture folder is complete and any text encodes."""

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

MERGES = [("t", "h"), ("th", "e"), ("Ġ", "the")]
SPECIALS = ["<|endoftext|>", "<|start|>", "<|end|>", "<|pad|>"]

# ids: 256 bytes, 3 merges, then the specials
ENDOFTEXT, START, END, PAD = range(256 + len(MERGES), 256 + len(MERGES) + len(SPECIALS))
SIZE = PAD + 1

CHAT_TEMPLATE = (
    "{%- for message in messages %}{{ '<|start|>' + message.role + '\n' + message.content + '<|end|>\n' }}{% endfor %}"
    "{%- if add_generation_prompt %}{{ '<|start|>assistant\n' }}{% endif %}"
)


def tiny_tokenizer(chat: bool) -> PreTrainedTokenizerFast:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = alphabet + ["".join(pair) for pair in MERGES]
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, MERGES))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(SPECIALS)
    assert tokenizer.token_to_id("<|pad|>") == PAD

    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<|endoftext|>",
        eos_token="<|end|>" if chat else "<|endoftext|>",
        pad_token="<|pad|>",
    )
    if chat:
        fast.chat_template = CHAT_TEMPLATE
    return fast
