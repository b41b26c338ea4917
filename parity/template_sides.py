"""Renders a template on both sides: by transformers, and by ours in one Node process."""

import json
import subprocess
from pathlib import Path

from transformers.utils.chat_template_utils import render_jinja_template

SCRIPT = Path(__file__).parent / "render_templates.mjs"


def theirs(template: str, conversation: dict, add_generation_prompt: bool, tokens: dict[str, str]) -> dict:
    """`{"text"}`, or `{"error"}` where the template or Jinja refuses."""
    try:
        [text], _ = render_jinja_template(
            conversations=[conversation["messages"]],
            tools=conversation.get("tools") or None,
            chat_template=template,
            add_generation_prompt=add_generation_prompt,
            **tokens,
            **conversation.get("variables", {}),
        )
        return {"text": text}
    except Exception as error:  # A template may fail in any way.
        return {"error": f"{type(error).__name__}: {error}"}


def ours(cases: list[tuple[str, dict, bool]], tokens: dict[str, str]) -> list[dict]:
    """The same for many (template, conversation, add_generation_prompt). Needs a build: `npx tsc -b`."""
    lines = []
    for template, conversation, add_generation_prompt in cases:
        options = {"addGenerationPrompt": add_generation_prompt, "namedTokens": tokens}
        options |= {"variables": conversation.get("variables", {}), "tools": conversation.get("tools", [])}
        lines.append(json.dumps({"template": template, "messages": conversation["messages"], "options": options}))
    done = subprocess.run(["node", SCRIPT], input="\n".join(lines), capture_output=True, text=True, check=True)
    # A text may hold line ends that splitlines() would see.
    return [json.loads(line) for line in done.stdout.strip("\n").split("\n")]


def verdict(our: dict, their: dict) -> str:
    if "error" in our:
        return "refused by both" if "error" in their else "refused by ours"
    if "error" in their:
        return "rendered where transformers refuses"
    return "equal" if our == their else "different"
