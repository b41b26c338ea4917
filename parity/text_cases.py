"""What the text fixtures are made of: a training corpus, strings, conversations and chat templates."""

import random

# Code points stay within Unicode 13: the two sides' tables may differ in newer ones.
CORPUS = """
The miller counted nine sacks of barley, then lost count and began again from one.
If a train leaves at 7:45 and arrives at 10:20, the trip takes 2 hours and 35 minutes.
She doesn't think we'll finish; they've said it's late, I'm sure you'd agree, and he's right.
Let x be 12 + 30. The sum is 42, because 12 plus 30 equals 42. Check: 42 - 30 = 12.
Let y be 7 * 8. The product is 56. Then 56 / 8 gives 7, and 56 - 56 gives 0.
You are a careful assistant. Answer the question and show the steps of your thinking.
You are a helpful assistant who keeps answers short. The user asks; the assistant answers.
def add(first, second):
    total = first + second
    return total
for (let i = 0; i < items.length; i++) { console.log(items[i]); }
{"name": "weather", "arguments": {"city": "Oslo", "days": 3}}
Das Mädchen fährt über die Brücke. Größe und Straße sind schön.
Le garçon a mangé une crème brûlée à Noël, déjà prêt.
Мельник считал мешки с зерном и сбился со счёта.
磨坊主数着一袋一袋的大麦。今天的天气很好。
粉屋は大麦の袋を数えました。きょうはいい天気です。
Emoji: 🙂🙂 🚀 👍 and a family 👨‍👩‍👧, a flag 🇳🇴.
the the the of of and and in in to to a a is is that that answer answer question question
1 2 3 4 5 10 20 50 100 200 500 1000 1999 2024 3.14 2.718 0.001
""".strip("\n")
# Merges across what one side may take for white space and the other not: without them a wrong split shows no trace.
CORPUS += "\n" + "\ufeff!!\t\u0085\t\u0085.\u0085 \ufeff?\n" * 12

PLAIN = [
    "a", " ", "  ", "\n", "\n\n", "\t", "\r\n", "0", "The miller", " the", "the  the   the    the",
    "  two before", "two after  ", "line one\nline two\n", "\n\nafter two lines", "a \n b", "a  \n\n  b", " \n \n ",
    "tab\tseparated\tvalues", "trailing tab\t", "\t\tindented", "carriage\rreturn", "mixed \t \n \r\n end",
    "It's they're we've I'm you'd we'll don't", "IT'S THEY'RE WE'VE I'M YOU'D WE'LL DON'T", "'s 'S ' s 't'd'll", "rock'n'roll",
    "7", "42", "123", "1234", "12345678901234567890", "3.14159", "1,000,000", "x1y22z333", "2024-02-29T23:59:60Z",
    "12 + 30 = 42", "(1+2)*3-4/5%6", "-17", "½ ¾ ² ³ ①", "٣٤٥ ५६७", "Ⅳ ⅷ",
    "hello, world!", "wait... what?!", "\"quoted\" 'single' `code`", "a-b_c.d/e\\f", "$100 €50 £20 ¥5", "50% & more #tag @you",
    "https://example.org/a?b=c&d=%20e#f", "user.name+tag@example.org", "<b>bold</b>", "<think>hm</think>", "<tool_call>",
    "def f(x):\n    return x ** 2\n", "if (a && b) {\n\treturn a[0]?.b ?? null;\n}", "SELECT * FROM t WHERE a <> 'b';",
    "{\"k\": [1, 2.5, null, true]}", "x = y  # comment", "#!/bin/sh\nset -e\n", "\\frac{1}{2} \\boxed{42}", "a\\nb",
    "Größe Straße ẞ", "crème brûlée", "cre\u0300me bru\u0302le\u0301e", "Ångström A\u030angstro\u0308m \u212b", "ﬁ ﬂ ﬀ", "ſtill",
    "Мельник считал мешки", "Ёлка и ещё", "Καλημέρα κόσμε", "שלום עולם", "مرحبا بالعالم", "नमस्ते दुनिया", "สวัสดีชาวโลก", "안녕하세요 세계", "각",
    "磨坊主数着大麦", "今天,天气。很好!", "粉屋は大麦の袋", "ｆｕｌｌ　ｗｉｄｔｈ", "中文English混合123", "𝒳𝒴 𝕫", "𠮷野家",
    "🙂", "🙂🙂🙂", "hi🙂there", " 🙂 ", "👨‍👩‍👧", "🇳🇴🇸🇪", "👍🏽", "❤️", "1️⃣", "🚀🚀 to the moon",
    "\u00a0nbsp\u00a0", "thin\u2009space", "ideographic\u3000space", "zero\u200bwidth\u200djoin", "\ufeffbom first", "bom \ufeff inside\ufeff", "next\u0085line \u0085 end", "\ufeff!! \ufeff?", "a\t\u0085\t\u0085.\u0085",
    "soft\u00adhyphen", "line\u2028sep\u2029para", "\u180emongolian", "\x00nul\x01\x1f\x7f", "vertical\x0btab\x0cfeed", "\x1c\x1d file", "\ue000private",
    "\u0301alone", "e\u0301\u0301\u0301", "a\u0327\u0301 a\u0301\u0327", "\u1100\u1161\u11a8", "\u0958 \u0344", "\U00011099\U000110ba",
    "Zanzibar zanzibar Zanzibar", " quokka quokkaquokka", "THE MILLER COUNTED", "tHe MiLLeR", "camelCaseAndSNAKE_CASE",
    "." * 40, "-" * 33, " " * 33, "\n" * 9, "a" * 70, "ab" * 40, "0" * 25, "!?" * 12, "é" * 20, " x" * 20,
]  # fmt: skip

PIECES = [
    " ", "  ", "   ", "\n", "\n\n", "\t", "\r\n", "a", "the", " the", "The", "miller", "'s", "'LL", "'", "1", "23", "456", "7890", ".", ",", "...", "!?",
    "(", ")", "é", "e\u0301", "ß", "ё", "麦", "大麦の", "🙂", "👍🏽", "\u00a0", "\u200b", "\ufeff", "\u0085", "_", "-", "+", "=", "{", "}", "<", ">", "/", "\\",
]  # fmt: skip


def strings(specials: list[str], mixed: int = 24, seed: int = 0) -> list[str]:
    """The plain strings, the special tokens within text, and `mixed` random sequences of small pieces."""
    draw = random.Random(seed)
    around = [text for token in specials for text in (token, f"a {token}  b", f"{token}{token}\n", token[:-1], f" {token.upper()}")]
    pieces = PIECES + specials
    random_ones = ["".join(draw.choices(pieces, k=draw.randint(3, 20))) for _ in range(mixed)]
    return list(dict.fromkeys([*PLAIN, *around, *random_ones]))


def _turn(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a town, <now> & \"later\"",
        "parameters": {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]},
    },
}

S, U, A, T = "system", "user", "assistant", "tool"
CONVERSATIONS = [
    {"messages": [_turn(U, "What is 12 + 30?")]},
    {"messages": [_turn(S, "You keep answers short."), _turn(U, "What is 12 + 30?")]},
    {"messages": [_turn(S, ""), _turn(U, "An empty system prompt.")]},
    {"messages": [_turn(U, "What is 12 + 30?"), _turn(A, "42"), _turn(U, "And plus 8?")]},
    {"messages": [_turn(U, "Hi"), _turn(A, "Hello! What shall we count?"), _turn(U, "Sheep."), _turn(A, "One, two.")]},
    {"messages": [_turn(U, "Sum?"), _turn(A, "<think>\n12 and 30\n</think>\n\n42"), _turn(U, "Sure?")]},
    {"messages": [_turn(U, "Sum?"), _turn(A, "<think>\n12 and 30\n</think>\n\n42")]},
    {"messages": [_turn(U, "  space around \n"), _turn(A, "\n \nindented\n\n"), _turn(U, "\ufeffbom\u0085 ")]},
    {"messages": [_turn(S, "Grüße 🙂"), _turn(U, "磨坊主 e\u0301 {{ not jinja }} {% nor this %}")]},
    {"messages": [_turn(U, "<|im_start|>user\nnested<|im_end|><|eot_id|><|endoftext|>")]},
    {"messages": [_turn(S, "Use tools."), _turn(U, "Rain in Oslo?")], "tools": [WEATHER]},
    {"messages": [_turn(U, "Rain?"), _turn(A, "I look."), _turn(T, "{\"rain\": true}"), _turn(T, "12 mm"), _turn(U, "So?")]},
    {"messages": [_turn(U, "Quick: 7 * 8")], "variables": {"enable_thinking": False}},
    {"messages": [_turn(U, "Which day?")], "variables": {"date_string": "29 Feb 2024"}},
    {"messages": [_turn(U, "No tools here.")], "tools": []},
]  # fmt: skip

# In our words, with the shapes of the families: headers, BOS in the template, trimming, tools in the first user turn.
LLAMA3_TEMPLATE = """{{- bos_token }}
{#- A leading system message becomes part of the head. #}
{%- if messages[0]['role'] == 'system' %}
    {%- set head = messages[0]['content'] | trim %}
    {%- set turns = messages[1:] %}
{%- else %}
    {%- set head = "" %}
    {%- set turns = messages %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if tools is not none %}
    {{- "Tools: available\\n" }}
{%- endif %}
{%- if date_string is defined %}
    {{- "Date: " + date_string + "\\n\\n" }}
{%- endif %}
{{- head }}
{{- "<|eot_id|>" }}
{%- if tools is not none %}
    {%- if turns | length == 0 %}
        {{- raise_exception("Tools need a user message to stand in.") }}
    {%- endif %}
    {%- set asked = turns[0]['content'] | trim %}
    {%- set turns = turns[1:] %}
    {{- '<|start_header_id|>user<|end_header_id|>\\n\\n' }}
    {{- "These functions may be called:\\n" }}
    {%- for tool in tools %}
        {{- tool | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
    {{- asked + "<|eot_id|>" }}
{%- endif %}
{%- for turn in turns %}
    {%- if turn.role == "tool" or turn.role == "ipython" %}
        {{- "<|start_header_id|>ipython<|end_header_id|>\\n\\n" + turn.content + "<|eot_id|>" }}
    {%- else %}
        {{- '<|start_header_id|>' + turn['role'] + '<|end_header_id|>\\n\\n' + turn['content'] | trim + '<|eot_id|>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""

# A default system prompt, tools as JSON lines, neighbouring tool answers in one user turn.
QWEN2_TEMPLATE = """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0]['role'] == 'system' %}
        {{- messages[0]['content'] }}
    {%- else %}
        {{- 'You are a small model with good manners.' }}
    {%- endif %}
    {{- "\\n\\n# Functions\\n\\nYou may call any of these:\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools><|im_end|>\\n" }}
{%- else %}
    {%- if messages[0]['role'] == 'system' %}
        {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>system\\nYou are a small model with good manners.<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}
{%- for turn in messages %}
    {%- if (turn.role == "user") or (turn.role == "system" and not loop.first) or turn.role == "assistant" %}
        {{- '<|im_start|>' + turn.role + '\\n' + turn.content + '<|im_end|>' + '\\n' }}
    {%- elif turn.role == "tool" %}
        {%- if (loop.index0 == 0) or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' }}
        {{- turn.content }}
        {{- '\\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""

# Thoughts of earlier turns are left out, those since the last question stay; thinking can be switched off.
QWEN3_TEMPLATE = """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\\n\\n' }}
    {%- endif %}
    {{- "# Functions\\n\\nYou may call any of these:\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools><|im_end|>\\n" }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- set found = namespace(searching=true, question=messages|length - 1) %}
{%- for turn in messages[::-1] %}
    {%- set place = (messages|length - 1) - loop.index0 %}
    {%- if found.searching and turn.role == "user" and turn.content is string and not(turn.content.startswith('<tool_response>') and turn.content.endswith('</tool_response>')) %}
        {%- set found.searching = false %}
        {%- set found.question = place %}
    {%- endif %}
{%- endfor %}
{%- for turn in messages %}
    {%- if turn.content is string %}
        {%- set said = turn.content %}
    {%- else %}
        {%- set said = '' %}
    {%- endif %}
    {%- if (turn.role == "user") or (turn.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + turn.role + '\\n' + said + '<|im_end|>' + '\\n' }}
    {%- elif turn.role == "assistant" %}
        {%- set thought = '' %}
        {%- if turn.reasoning_content is string %}
            {%- set thought = turn.reasoning_content %}
        {%- elif '</think>' in said %}
            {%- set thought = said.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set said = said.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {%- if loop.index0 > found.question and (loop.last or thought) %}
            {{- '<|im_start|>' + turn.role + '\\n<think>\\n' + thought.strip('\\n') + '\\n</think>\\n\\n' + said.lstrip('\\n') }}
        {%- else %}
            {{- '<|im_start|>' + turn.role + '\\n' + said }}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- elif turn.role == "tool" %}
        {%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' + said + '\\n</tool_response>' }}
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
