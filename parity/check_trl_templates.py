"""Renders the chat templates of the installed trl on both sides: by transformers, and by ours.

    python parity/check_trl_templates.py

Prints how many texts are equal, what ours refuses, and every text that differs. Exits 1 if one differs, or if ours
renders what transformers refuses. The templates are read where trl has them and are not stored.
"""

import sys
from collections import Counter
from pathlib import Path

import trl.chat_template_utils
from template_cases import CONVERSATIONS
from template_sides import ours, theirs, verdict

TOKENS = {"bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>", "unk_token": "<unk>"}


def templates() -> dict[str, str]:
    """Those in files, and those in code that are in no file."""
    folder = Path(trl.chat_template_utils.__file__).parent / "chat_templates"
    found = {file.name: file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.jinja"))}
    for name, value in vars(trl.chat_template_utils).items():
        if isinstance(value, str) and "{%" in value and value not in found.values():
            found[name] = value
    return found


def main() -> None:
    found = templates()
    names = [name for name in found for _ in CONVERSATIONS for _ in (False, True)]
    cases = [(found[name], each, prompt) for name in found for each in CONVERSATIONS for prompt in (False, True)]
    counts, reasons = Counter(), Counter()
    for name, case, our in zip(names, cases, ours(cases, TOKENS), strict=True):
        their = theirs(*case, TOKENS)
        found_verdict = verdict(our, their)
        counts[found_verdict] += 1
        if found_verdict == "refused by ours":
            reasons[f"{name}: {our['error']}"] += 1
        elif our.get("text") != their.get("text"):
            print(f"{name}, {case[1]}, generation prompt {case[2]}: {found_verdict}\n  ours   {our}\n  theirs {their}")
    for reason, count in reasons.most_common():
        print(f"{count} x refused by ours: {reason}")
    print(f"{len(found)} templates, {len(CONVERSATIONS)} conversations: {dict(counts)}")
    sys.exit(1 if counts["different"] or counts["rendered where transformers refuses"] else 0)


if __name__ == "__main__":
    main()
