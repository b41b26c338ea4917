"""Small tokenizers with the settings of GPT-2, Llama 3, Qwen 2.5 and Qwen 3, with tokens and chat templates of our
own, and what the Rust library and transformers make of strings and conversations:
parity/fixtures/text/<family>/{tokenizer files, cases.json}.

    python parity/make_text_fixtures.py
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from chat_templates import GROUPED, HEADED, MUSING
from text_cases import CONVERSATIONS, CORPUS, strings
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

OUT = Path(__file__).parent / "fixtures" / "text"

LLAMA3_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN_SPLIT = LLAMA3_SPLIT.replace(r"\p{N}{1,3}", r"\p{N}")


def trained(pre_tokenizer, size: int, whole_words: list[str] = (), **model) -> Tokenizer:
    """A byte-level BPE of `size` ids before `whole_words`, which no merge can make, and before any added token."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        [f"{line}\n" for line in CORPUS.split("\n")],
        trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False),
    )
    content = json.loads(tokenizer.to_str())
    vocab, merges = content["model"]["vocab"], [tuple(pair) for pair in content["model"]["merges"]]
    for word in whole_words:
        vocab[word] = len(vocab)
    tokenizer.model = models.BPE(vocab, merges, **model)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def split(pattern: str):
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), behavior="isolated", invert=False),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )


def gpt2() -> PreTrainedTokenizerFast:
    tokenizer = trained(pre_tokenizers.ByteLevel(add_prefix_space=False), 500)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    end = "<|endoftext|>"
    tokenizer.add_special_tokens([end])
    # The clean-up flag is on in many old files and must not change what a completion says.
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=end, eos_token=end, unk_token=end, clean_up_tokenization_spaces=True
    )


def llama3() -> PreTrainedTokenizerFast:
    tokenizer = trained(split(LLAMA3_SPLIT), 520, ["Zanzibar", "Ġquokka"], ignore_merges=True)
    names = ["begin_of_text", "end_of_text", "turn", "says", "/turn"]
    tokenizer.add_special_tokens([f"<|{name}|>" for name in names])
    bos = "<|begin_of_text|>"
    tokenizer.post_processor = processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=False),
            processors.TemplateProcessing(
                single=f"{bos} $A", pair=f"{bos} $A {bos}:1 $B:1", special_tokens=[(bos, tokenizer.token_to_id(bos))]
            ),
        ]
    )
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=bos, eos_token="<|/turn|>")
    fast.chat_template = HEADED
    return fast


def qwen(template: str, tags: list[str]) -> PreTrainedTokenizerFast:
    tokenizer = trained(split(QWEN_SPLIT), 510)
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.add_special_tokens(["<|endoftext|>", "<|turn|>", "<|/turn|>"])
    tokenizer.add_tokens([AddedToken(tag, normalized=False, special=False) for tag in tags])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|/turn|>", pad_token="<|endoftext|>")
    fast.chat_template = template
    return fast


FAMILIES: dict[str, Callable[[], PreTrainedTokenizerFast]] = {
    "gpt2": gpt2,
    "llama3": llama3,
    "qwen2": lambda: qwen(GROUPED, ["<call>", "</call>"]),
    "qwen3": lambda: qwen(MUSING, ["<musing>", "</musing>", "<call>", "</call>"]),
}


def string_case(tokenizer, text: str) -> dict:
    ids = tokenizer.encode(text, add_special_tokens=False)
    case = {"text": text, "ids": ids}
    # Only what differs is written down.
    whole = tokenizer.encode(text)
    if whole != ids:
        case["withSpecials"] = whole
    decoded = tokenizer.decode(ids, clean_up_tokenization_spaces=False)
    if decoded != text:
        case["decoded"] = decoded
    skipped = tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    if skipped != decoded:
        case["skipped"] = skipped
    return case


def conversation_case(tokenizer, conversation: dict, add_generation_prompt: bool) -> dict:
    options = {"tools": conversation.get("tools") or None, "add_generation_prompt": add_generation_prompt}
    options |= conversation.get("variables", {})
    messages = conversation["messages"]
    text = tokenizer.apply_chat_template(messages, tokenize=False, **options)
    ids = tokenizer.apply_chat_template(messages, tokenize=True, return_dict=False, **options)
    return {"text": text, "ids": ids}


def main() -> None:
    for family, build in FAMILIES.items():
        folder = OUT / family
        shutil.rmtree(folder, ignore_errors=True)
        build().save_pretrained(folder)
        # What a user loads is the saved folder.
        tokenizer = AutoTokenizer.from_pretrained(folder)
        specials = [token.content for token in tokenizer.added_tokens_decoder.values()]
        cases = {
            "vocabSize": max(tokenizer.get_vocab().values()) + 1,
            "bosId": tokenizer.bos_token_id,
            "eosId": tokenizer.eos_token_id,
            "padId": tokenizer.pad_token_id,
            "specialIds": sorted(id for id, token in tokenizer.added_tokens_decoder.items() if token.special),
            "strings": [string_case(tokenizer, text) for text in strings(specials)],
            "conversations": [],
        }
        if tokenizer.chat_template is not None:
            cases["conversations"] = [
                conversation
                | {
                    "open": conversation_case(tokenizer, conversation, True),
                    "closed": conversation_case(tokenizer, conversation, False),
                }
                for conversation in CONVERSATIONS
            ]
        lines = json.dumps(cases, ensure_ascii=False, separators=(",", ":")).replace('},{"text"', '},\n{"text"')
        (folder / "cases.json").write_text(lines + "\n", encoding="utf-8")
        size = sum(file.stat().st_size for file in folder.iterdir())
        print(f"{family}: {len(cases['strings'])} strings, {len(cases['conversations'])} conversations, {size // 1024} KiB")


if __name__ == "__main__":
    main()
