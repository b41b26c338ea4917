"""Conversations and chat templates that use what the templates of Llama 3, Qwen 2.5 and Qwen 3 use, in our words."""

from text_cases import CONVERSATIONS as FIRST
from text_cases import LLAMA3_TEMPLATE, QWEN2_TEMPLATE, QWEN3_TEMPLATE, WEATHER, A, S, T, U, _turn


def _calls(content: str, *calls: tuple[str, object], **fields) -> dict:
    """An assistant's turn that calls tools."""
    wanted = [
        {"id": f"call{i}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for i, (name, arguments) in enumerate(calls)
    ]
    return _turn(A, content) | {"tool_calls": wanted} | fields


def _thinking(content: str, thought: str) -> dict:
    return _turn(A, content) | {"reasoning_content": thought}


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
HARD = "<&>\"'`\\ {{ x }} {% y %} {# z #} </think> <|im_end|> \u00a0\u2028\u2029\u0085\ufeff\t"

_ASK = [_turn(U, "Grind two sacks of rye.")]
_CALLED = [*_ASK, _calls("", ("mill", {"grain": "rye", "sacks": [1, 2]}))]
_ANSWERED = [*_CALLED, _turn(T, '{"flour": 1.5}')]
_LONG = [turn for i in range(5) for turn in (_turn(U, f"Question {i}"), _turn(A, f"Answer {i}"))]

CONVERSATIONS = [
    *FIRST,
    # Contents that templates trim, split or look into.
    *({"messages": [_turn(U, content)]} for content in [
        "", " ", "\n", " \n x \n ", "\r\nline\rline\r\n", "\u0085\u2028x\u2029", "\ufeff", "\x1cfile\x1d", HARD, "e\u0301\U0001f468\u200d\U0001f469",
        "None", "0", "{'a': 1}", "<tool_response>x</tool_response>", "a</think>b<think>c", "x" * 300,
    ]),
    *({"messages": [_turn(U, "And?"), _turn(A, content), _turn(U, "So.")]} for content in [
        "", "\n \n", "<think>\n\n</think>\n\n", "<think>a</think>b</think>c", "\n indented", "</think>", "<think>open", "  two  ", HARD,
    ]),
    {"messages": [_turn(S, HARD), _turn(U, HARD), _turn(A, HARD)]},
    {"messages": [_turn(S, " spaced \n"), _turn(U, "x")], "tools": TOOLS},
    {"messages": [_turn(U, "x"), _turn(S, "late"), _turn(U, "y")]},
    {"messages": [_turn(S, "only a system")]},
    {"messages": [_turn(A, "first speaks the assistant"), _turn(U, "then me")]},
    {"messages": [_turn(U, "a"), _turn(U, "b"), _turn(A, "c"), _turn(A, "d")]},
    {"messages": _LONG},
    {"messages": [_turn(S, "s"), *_LONG[:-1]], "tools": [MILL]},
    # Tools, their calls and their replies.
    {"messages": _ASK, "tools": [MILL]},
    {"messages": _ASK, "tools": TOOLS},
    {"messages": [_turn(S, "Be careful."), *_ASK], "tools": [BARE]},
    {"messages": _CALLED, "tools": [MILL]},
    {"messages": _ANSWERED, "tools": [MILL]},
    {"messages": [*_ANSWERED, _turn(A, "Done.")], "tools": [MILL]},
    {"messages": [*_ANSWERED, _turn(A, "Done."), _turn(U, "Thanks."), _calls("", ("now", {}))], "tools": TOOLS},
    {"messages": [*_ASK, _calls("Two calls.", ("mill", {"grain": "Oats"}), ("now", {})), _turn(T, "a"), _turn(T, "b")]},
    {"messages": [*_ASK, _calls("", ("mill", {"share": 0.5, "note": None, "fine": True, "é": "\U0001f33e<>&"}))]},
    {"messages": [*_ASK, _calls("", ("mill", {"deep": {"list": [1, [2, {"x": []}]], "empty": {}}}))]},
    {"messages": [*_ASK, _calls("", ("mill", '{"grain": "rye"}')), _turn(T, "ok")]},
    {"messages": [*_ASK, _calls("", ("now", {})), _turn(T, "7:45") | {"name": "now", "tool_call_id": "call0"}]},
    {"messages": [*_ASK, _calls("<think>\nwhich?\n</think>\n\nI call.", ("now", {})), _turn(T, HARD), _turn(U, "?")]},
    {"messages": [*_ASK, _turn(A, "no calls") | {"tool_calls": []}, _turn(U, "?")]},
    {"messages": [*_ASK, _turn(A, "no calls") | {"tool_calls": None}]},
    # Thinking.
    {"messages": [*_ASK, _thinking("Four.", "two and two")]},
    {"messages": [*_ASK, _thinking("Four.", "two and two"), _turn(U, "Sure?")]},
    {"messages": [*_ASK, _thinking("\n\nFour.\n", "\n spaced \n\n"), _turn(U, "Sure?"), _thinking("Yes.", "")]},
    {"messages": [*_ASK, _calls("", ("now", {}), reasoning_content="hm\n"), _turn(T, "1"), _thinking("One.", "so")]},
    {"messages": [*_ASK, _turn(A, "x") | {"reasoning_content": None}]},
    {"messages": _ASK, "variables": {"enable_thinking": True}},
    {"messages": _ASK, "variables": {"enable_thinking": False}, "tools": TOOLS},
    {"messages": _ASK, "variables": {"enable_thinking": None, "date_string": ""}},
    {"messages": _ASK, "variables": {"date_string": "1 Jan 2030", "tools_in_user_message": False}, "tools": TOOLS},
    {"messages": _ASK, "variables": {"names": {"b": 1, "B": 0.5, "a": None, "ä": [True, "x"]}, "limit": 3}},
    {"messages": [_turn("critic", "a role of its own"), _turn(U, "x")]},
    {"messages": [_turn(U, "unknown fields") | {"weight": 1.25, "tags": ["b", "A", "a"], "meta": {"k": 10}}]},
]  # fmt: skip

LLAMA_TOOLS_TEMPLATE = """{{- bos_token }}
{%- if not tools_in_user_message is defined %}
    {%- set tools_in_user_message = true %}
{%- endif %}
{%- if not date_string is defined %}
    {%- set date_string = "2 Mar 2001" %}
{%- endif %}
{#- The system's words come apart from the rest. #}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_text = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_text = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if tools is not none %}
    {{- "Place: mill\\n" }}
{%- endif %}
{{- "Day: " + date_string + "\\n\\n" }}
{%- if tools is not none and not tools_in_user_message %}
    {{- "Answer by a call of one of these, written as JSON." }}
    {{- 'Write {"name": its name, "parameters": a dict}.\\n\\n' }}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
{%- endif %}
{{- system_text }}
{{- "<|eot_id|>" }}
{%- if tools_in_user_message and not tools is none %}
    {%- if messages | length != 0 %}
        {%- set first_user_message = messages[0]['content']|trim %}
        {%- set messages = messages[1:] %}
    {%- else %}
        {{- raise_exception("There is no user to show the tools to") }}
{%- endif %}
    {{- '<|start_header_id|>user<|end_header_id|>\\n\\n' -}}
    {{- "These may be called:\\n\\n" }}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
    {{- first_user_message + "<|eot_id|>"}}
{%- endif %}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("One call a turn") }}
        {%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}
        {{- '{"name": "' + tool_call.name + '", ' }}
        {{- '"parameters": ' }}
        {{- tool_call.arguments | tojson }}
        {{- "}" }}
        {{- "<|eot_id|>" }}
    {%- elif message.role == "tool" or message.role == "ipython" %}
        {{- "<|start_header_id|>ipython<|end_header_id|>\\n\\n" }}
        {%- if message.content is mapping or message.content is iterable %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""

QWEN_CALLS_TEMPLATE = """{%- if tools %}
    {{- '<|im_start|>system\\n' ~ (messages[0].content if messages[0].role == 'system' else 'You mill.') ~ '\\n' }}
    {%- for tool in tools %}
        {{- "\\n" }}{{- tool | tojson }}
    {%- endfor %}
    {{- "<|im_end|>\\n" }}
{%- endif %}
{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls and not message.reasoning_content) %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set content = message.content %}
        {%- set reasoning_content = '' %}
        {%- if message.reasoning_content is defined and message.reasoning_content is not none %}
            {%- set reasoning_content = message.reasoning_content %}
        {%- elif '</think>' in message.content %}
            {%- set content = message.content.split('</think>')[-1].lstrip('\\n') %}
            {%- set reasoning_content = message.content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {{- '<|im_start|>' + message.role }}
        {%- if loop.index0 > ns.last_query_index and (loop.last or (not loop.last and reasoning_content)) %}
            {{- '\\n<think>\\n' + reasoning_content.strip('\\n') + '\\n</think>\\n' }}
        {%- endif %}
        {%- if content %}
            {{- '\\n' + content.lstrip('\\n') }}
        {%- endif %}
        {%- for tool_call in message.tool_calls %}
            {%- if tool_call.function is defined %}
                {%- set tool_call = tool_call.function %}
            {%- endif %}
            {{- '\\n<tool_call>\\n{"name": "' }}
            {{- tool_call.name }}
            {{- '", "arguments": ' }}
            {%- if tool_call.arguments is string %}
                {{- tool_call.arguments }}
            {%- else %}
                {{- tool_call.arguments | tojson }}
            {%- endif %}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if (loop.index0 == 0) or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' }}
        {{- message.content }}
        {{- '\\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}
"""

# Macros that call each other, set blocks, filters on dicts and lists, marks for training.
SCHEMA_TEMPLATE = """{% macro kind(schema, depth=0) %}
  {%- if schema.type is string -%}
    {%- if schema.type == "array" -%}
      list of {{ kind(schema['items'], depth + 1) }}
    {%- elif schema.type == "object" -%}
      {{ fields(schema.properties, depth + 1) }}
    {%- else -%}
      {{ schema.type|upper }}{{ " (one of " ~ schema.enum|join("/") ~ ")" if schema.enum }}
    {%- endif -%}
  {%- elif schema.type is iterable -%}
    {{ schema.type|join(" or ") }}
  {%- else -%}
    anything
  {%- endif -%}
  {{ " = " ~ schema.default if schema.default is defined }}
{%- endmacro %}
{% macro fields(properties, depth) -%}
  {
  {%- for name, schema in properties|dictsort %}
    {{- "\\n" ~ "  " * depth ~ name|capitalize }}: {{ kind(schema, depth) }}{{ "," if not loop.last }}
  {%- endfor -%}
  }
{%- endmacro %}
{% set head %}
  {% if tools %}
Tools: {{ tools|map(attribute="function.name")|join(", ") }} ({{ tools|length }})
    {% for tool in tools if tool.function.parameters %}
- {{ tool.function.name }}{{ fields(tool.function.parameters.properties, 1) }}
      {% if tool.function.parameters.required %} needs {{ tool.function.parameters.required|sort|join("+") }}{% endif %}

    {% else %}
none takes anything
    {% endfor %}
  {% endif %}
{% endset %}
{{ head|trim|indent(2) }}
{% for key, value in (names|default({})).items() %}{{ key }}={{ value }};{% endfor %}
{%- for key, value in names|default({})|dictsort(true) -%}{{ loop.index }}/{{ loop.length }} {{ key ~ value }} {% endfor +%}
{{ (messages|selectattr("role", "equalto", "user")|list)|length }} of {{ messages|length }}
{% for role in messages|map(attribute="role")|unique %}{{ role|title }} {% endfor %}

{%- for message in messages|rejectattr("role", "in", ["system", "critic"]) %}
  {%- if limit is defined and loop.index > limit %}{% break %}{% endif %}
  {%- if message.role == "assistant" %}
    {%- generation %}{{ "A: " ~ message.content }}{{ eos_token }}{% endgeneration %}
    {%- set again = "" %}
  {%- elif not message.content|trim %}{% continue %}
  {%- else %}
[{{ message.role[0] }}{{ message.role[-1] }}{{ message.role[::-2] }}] {{ message.content.strip().split("\\n")|first }}|{{ message.content|length }}|{{ message.content[:3] }}
    {%- if loop.previtem is defined and loop.previtem.role == message.role %} (again){% set again = "!" %}{% endif %}
    {%- if loop.nextitem is undefined %} (last){% endif %}
{{ again }}
  {%- endif %}
  {%- if message.weight is defined %}{{ message.weight }} {{ message.tags|sort }} {{ message.meta.k / 4 }} {{ message.meta.get("k") // 4 }} {{ message.meta.none or none }}{% endif %}
{% else %}
nothing
{%- endfor %}
{{ ["x", 1.0, 2, none, true]|tojson }}{{ {"ä": "</script>&'", "b": [0.1, {}]}|tojson(indent=2) }}
{% filter replace("a", "") %}{{ messages[-1].content|lower|replace("e", "3") }}{% endfilter %}
{{- "<bot>" if add_generation_prompt }}"""

TEMPLATES = {
    "llama3": LLAMA3_TEMPLATE,
    "llama3-tools": LLAMA_TOOLS_TEMPLATE,
    "qwen2": QWEN2_TEMPLATE,
    "qwen3": QWEN3_TEMPLATE,
    "qwen-calls": QWEN_CALLS_TEMPLATE,
    "schema": SCHEMA_TEMPLATE,
}
