"""Conversations that show what chat templates do with contents, tools, calls, replies and thoughts."""

from text_cases import CONVERSATIONS as FIRST
from text_cases import WEATHER, A, S, T, U, turn


def _calls(content: str, *calls: tuple[str, object], **fields) -> dict:
    """An assistant's turn that calls tools."""
    wanted = [
        {"id": f"call{i}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for i, (name, arguments) in enumerate(calls)
    ]
    return turn(A, content) | {"tool_calls": wanted} | fields


def _thinking(content: str, thought: str) -> dict:
    return turn(A, content) | {"reasoning_content": thought}


MILL = {
    "type": "function",
    "function": {
        "name": "mill",
        "description": "Grinds grain.\nTwice, if asked: \"fine\" 'coarse' <b> & \\ \u2028 \u00e9 \U0001f33e",
        "parameters": {
            "type": "object",
            "properties": {
                "grain": {"type": "string", "enum": ["rye", "Oats", "barley"], "description": "Which one"},
                "sacks": {"type": "array", "items": {"type": "integer"}, "minItems": 1},
                "share": {"type": "number", "default": 0.125, "maximum": 1e-7},
                "fine": {"type": "boolean", "default": False},
                "note": {"type": ["string", "null"], "default": None},
                "place": {"type": "object", "properties": {"town": {"type": "string"}}, "required": []},
            },
            "required": ["grain", "sacks"],
        },
    },
}
BARE = {"type": "function", "function": {"name": "now", "description": "", "parameters": {}}}
TOOLS = [WEATHER, MILL, BARE]
HARD = "<&>\"'`\\ {{ x }} {% y %} {# z #} </think> </musing> <|im_end|> <|/turn|> \u00a0\u2028\u2029\u0085\ufeff\t"

_ASK = [turn(U, "Grind two sacks of rye.")]
_CALLED = [*_ASK, _calls("", ("mill", {"grain": "rye", "sacks": [1, 2]}))]
_ANSWERED = [*_CALLED, turn(T, '{"flour": 1.5}')]
_LONG = [each for i in range(5) for each in (turn(U, f"Question {i}"), turn(A, f"Answer {i}"))]

CONVERSATIONS = [
    *FIRST,
    # Contents that templates trim, split or look into.
    *({"messages": [turn(U, content)]} for content in [
        "", " ", "\n", " \n x \n ", "\r\nline\rline\r\n", "\u0085\u2028x\u2029", "\ufeff", "\x1cfile\x1d", HARD, "e\u0301\U0001f468\u200d\U0001f469",
        "None", "0", "{'a': 1}", "<tool_response>x</tool_response>", "<reply>x</reply>", "a</think>b<think>c", "x" * 300,
    ]),
    *({"messages": [turn(U, "And?"), turn(A, content), turn(U, "So.")]} for content in [
        "", "\n \n", "<think>\n\n</think>\n\n", "<think>a</think>b</think>c", "\n indented", "</think>", "<think>open", "  two  ", HARD,
        "<musing>\n\n</musing>\n\n", "<musing>a</musing>b</musing>c", "</musing>", "<musing>open", "a <musing>b</musing> c", "so<|/turn|>",
    ]),
    {"messages": [turn(S, HARD), turn(U, HARD), turn(A, HARD)]},
    {"messages": [turn(S, " spaced \n"), turn(U, "x")], "tools": TOOLS},
    {"messages": [turn(U, "x"), turn(S, "late"), turn(U, "y")]},
    {"messages": [turn(S, "only a system")]},
    {"messages": [turn(A, "first speaks the assistant"), turn(U, "then me")]},
    {"messages": [turn(U, "a"), turn(U, "b"), turn(A, "c"), turn(A, "d")]},
    {"messages": _LONG},
    {"messages": [turn(S, "s"), *_LONG[:-1]], "tools": [MILL]},
    # Tools, their calls and their replies.
    {"messages": _ASK, "tools": [MILL]},
    {"messages": _ASK, "tools": TOOLS},
    {"messages": [turn(S, "Be careful."), *_ASK], "tools": [BARE]},
    {"messages": _CALLED, "tools": [MILL]},
    {"messages": _ANSWERED, "tools": [MILL]},
    {"messages": [*_ANSWERED, turn(A, "Done.")], "tools": [MILL]},
    {"messages": [*_ANSWERED, turn(A, "Done."), turn(U, "Thanks."), _calls("", ("now", {}))], "tools": TOOLS},
    {"messages": [*_ASK, _calls("Two calls.", ("mill", {"grain": "Oats"}), ("now", {})), turn(T, "a"), turn(T, "b")]},
    {"messages": [*_ASK, _calls("", ("mill", {"share": 0.5, "note": None, "fine": True, "é": "\U0001f33e<>&"}))]},
    {"messages": [*_ASK, _calls("", ("mill", {"deep": {"list": [1, [2, {"x": []}]], "empty": {}}}))]},
    {"messages": [*_ASK, _calls("", ("mill", '{"grain": "rye"}')), turn(T, "ok")]},
    {"messages": [*_ASK, _calls("", ("now", {})), turn(T, "7:45") | {"name": "now", "tool_call_id": "call0"}]},
    {"messages": [*_ASK, _calls("<think>\nwhich?\n</think>\n\nI call.", ("now", {})), turn(T, HARD), turn(U, "?")]},
    {"messages": [*_ASK, _calls("<musing>\nwhich?\n</musing>\n\nI call.", ("now", {})), turn(T, HARD), turn(A, "<musing>so</musing>Yes.")]},
    {"messages": [*_ASK, turn(A, "no calls") | {"tool_calls": []}, turn(U, "?")]},
    {"messages": [*_ASK, turn(A, "no calls") | {"tool_calls": None}]},
    # Thinking.
    {"messages": [*_ASK, _thinking("Four.", "two and two")]},
    {"messages": [*_ASK, _thinking("Four.", "two and two"), turn(U, "Sure?")]},
    {"messages": [*_ASK, _thinking("\n\nFour.\n", "\n spaced \n\n"), turn(U, "Sure?"), _thinking("Yes.", "")]},
    {"messages": [*_ASK, _calls("", ("now", {}), reasoning_content="hm\n"), turn(T, "1"), _thinking("One.", "so")]},
    {"messages": [*_ASK, turn(A, "x") | {"reasoning_content": None}]},
    {"messages": _ASK, "variables": {"enable_thinking": True}},
    {"messages": _ASK, "variables": {"enable_thinking": False}, "tools": TOOLS},
    {"messages": _ASK, "variables": {"enable_thinking": None, "date_string": ""}},
    {"messages": _ASK, "variables": {"date_string": "1 Jan 2030", "tools_in_user_message": False}, "tools": TOOLS},
    {"messages": _ASK, "variables": {"names": {"b": 1, "B": 0.5, "a": None, "ä": [True, "x"]}, "limit": 3}},
    {"messages": [turn("critic", "a role of its own"), turn(U, "x")]},
    {"messages": [turn(U, "unknown fields") | {"weight": 1.25, "tags": ["b", "A", "a"], "meta": {"k": 10}}]},
    # What newer families look at.
    {"messages": [turn(S, "Be brief. /no_think"), turn(U, "x"), turn(A, "<think>\na\n</think>\n\nb"), turn(U, "y")], "tools": [BARE]},
    {"messages": [turn(S, "/think"), turn(U, "x"), turn(A, "\n\nb")], "variables": {"xml_tools": [MILL], "enable_thinking": False}},
    {"messages": [turn(S, "/bare"), turn(U, "x")], "variables": {"forbid_rules": True}},
    {"messages": [turn(S, "s") | {"tools": "[1]", "functions": "f()"}, turn(U, "x")]},
    {"messages": _ASK, "variables": {"documents": [{"text": "Rye is heavy."}, {"text": ""}], "controls": {"citations": True, "length": "short"}}},
    {"messages": _ASK, "variables": {"thinking": True, "controls": {}}, "tools": [BARE]},
    {"messages": [*_ASK, _calls("", ("now", {})) | {"tool_calls": [{"id": "nine12345", "function": {"name": "now", "arguments": {}}}]}, turn(T, "12"), turn(A, "12"), turn(U, "?")], "tools": [BARE]},
]  # fmt: skip
