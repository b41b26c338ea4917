"""What transformers renders: every conversation of template_cases.py with every template of
chat_templates.py (fixtures/text/templates.json), and the snippets of snippet_cases.py (fixtures/text/snippets.json).

    python parity/make_template_fixtures.py
"""

import json
from pathlib import Path

from chat_templates import TEMPLATES
from snippet_cases import MESSAGES, SNIPPETS, VALUES
from template_cases import CONVERSATIONS
from template_sides import theirs

OUT = Path(__file__).parent / "fixtures" / "text"
TOKENS = {"bos_token": "<bos>", "eos_token": "<eos>"}


def write(name: str, content: dict) -> None:
    lines = json.dumps(content, ensure_ascii=False, separators=(",", ":")).replace('},{"', '},\n{"')
    (OUT / name).write_text(lines + "\n", encoding="utf-8")
    print(f"{name}: {(OUT / name).stat().st_size // 1024} KiB")


def pair(template: str, conversation: dict) -> dict[str, str | None]:
    """The text without and with the generation prompt; null where the template refuses."""
    closed, opened = (theirs(template, conversation, prompt, TOKENS).get("text") for prompt in (False, True))
    # The generation prompt mostly stands at the end: then only it is written down.
    if closed is not None and opened.startswith(closed):
        return {"closed": closed, "prompt": opened[len(closed) :]}
    return {"closed": closed, "open": opened}


def snippet(template: str) -> dict[str, str]:
    rendered = theirs(template, {"messages": MESSAGES, "variables": VALUES}, False, {})
    return {"template": template, "text": rendered["text"]}


def main() -> None:
    texts = {name: [pair(template, each) for each in CONVERSATIONS] for name, template in TEMPLATES.items()}
    write("templates.json", {"tokens": TOKENS, "templates": TEMPLATES, "conversations": CONVERSATIONS, "texts": texts})
    snippets = {subject: [snippet(each) for each in templates] for subject, templates in SNIPPETS.items()}
    write("snippets.json", {"messages": MESSAGES, "variables": VALUES, "snippets": snippets})


if __name__ == "__main__":
    main()
