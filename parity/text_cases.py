"""What the text fixtures are made of: a training corpus, strings and conversations."""

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


def turn(role: str, content: str) -> dict[str, str]:
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
    {"messages": [turn(U, "What is 12 + 30?")]},
    {"messages": [turn(S, "You keep answers short."), turn(U, "What is 12 + 30?")]},
    {"messages": [turn(S, ""), turn(U, "An empty system prompt.")]},
    {"messages": [turn(U, "What is 12 + 30?"), turn(A, "42"), turn(U, "And plus 8?")]},
    {"messages": [turn(U, "Hi"), turn(A, "Hello! What shall we count?"), turn(U, "Sheep."), turn(A, "One, two.")]},
    {"messages": [turn(U, "Sum?"), turn(A, "<think>\n12 and 30\n</think>\n\n42"), turn(U, "Sure?")]},
    {"messages": [turn(U, "Sum?"), turn(A, "<musing>\n12 and 30\n</musing>\n\n42"), turn(U, "Sure?")]},
    {"messages": [turn(U, "Sum?"), turn(A, "<think>\n12 and 30\n</think>\n\n42")]},
    {"messages": [turn(U, "Sum?"), turn(A, "<musing>\n12 and 30\n</musing>\n\n42")]},
    {"messages": [turn(U, "  space around \n"), turn(A, "\n \nindented\n\n"), turn(U, "\ufeffbom\u0085 ")]},
    {"messages": [turn(S, "Grüße 🙂"), turn(U, "磨坊主 e\u0301 {{ not jinja }} {% nor this %}")]},
    {"messages": [turn(U, "<|turn|>user\nnested<|/turn|><|says|><|endoftext|>")]},
    {"messages": [turn(S, "Use tools."), turn(U, "Rain in Oslo?")], "tools": [WEATHER]},
    {"messages": [turn(U, "Rain?"), turn(A, "I look."), turn(T, "{\"rain\": true}"), turn(T, "12 mm"), turn(U, "So?")]},
    {"messages": [turn(U, "Quick: 7 * 8")], "variables": {"enable_thinking": False}},
    {"messages": [turn(U, "Which day?")], "variables": {"date_string": "29 Feb 2024"}},
    {"messages": [turn(U, "No tools here.")], "tools": []},
]  # fmt: skip
