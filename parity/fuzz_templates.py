"""Random templates over what chat templates use, rendered on both sides.

    python parity/fuzz_templates.py [HOW MANY] [SEED]

Prints every template whose text differs, the shortest of those that ours renders and transformers refuses, and what ours
refuses most. Exits 1 if a text differs.
"""

import random
import sys
from collections import Counter

from template_sides import ours, theirs, verdict

MESSAGES = [
    {"role": "user", "content": " hi <b> "},
    {"role": "assistant", "content": "a,b", "x": {"y": [1.5, "q"]}, "tool_calls": [{"name": "f", "arguments": {"k": None}}]},
    {"role": "tool", "content": ""},
]
TOOL = {"name": "w", "description": 'd "q" & <x>', "parameters": {"properties": {"a": {"items": 2}}, "required": ["a"]}}
VARIABLES = {
    **{"s": " Hello,\n w\u00f6rld\U0001f642 ", "t": "abcX", "u": "", "n": 3, "f": 0.5, "z": 0, "b": True, "l": [3, 1, 2, 1]},
    **{"d": {"b": 1, "a": "x", "role": "user", "items": [1, None]}, "e": [], "big": 12345678.9, "bos": "<s>", "tool": TOOL},
}

TEXTS = [
    "'a'", "'b c'", "''", "' x\\n'", "'ab,cd'", '"it\'s"', "'e\u0301'", "'\U0001f642z'", "'3'", "' 4.5 '", "'\u00df'", "'aXbX'", "'Hello World-foo'",
    "'\u03a3\u0391\u03a3'", "'<b>&'", "'\\t '", "'q\u0085\ufeff'", "'\\\\n'", "'</musing>'", "'a\\r\\nb\\x0bc'", "'1_000'", "'-7'", "'inf'", "'\U00010400'",
    "s", "t", "u", "bos", "messages[0].content", "messages[1]['role']", "tool.description",
]  # fmt: skip
TEXT_FILTERS = [
    "trim", "upper", "lower", "capitalize", "title", "string", "reverse", "indent", "tojson", 'indent(2, true)', "indent(width=1, blank=true)", "trim('a')",
    "replace('a', 'bb')", "replace('', '-')", "replace('X', '', 1)", "default('y')", "indent('> ')", "tojson(ensure_ascii=true)",
]  # fmt: skip
TEXT_METHODS = [
    "strip()", "lstrip()", "rstrip()", "strip('a ')", "lstrip('\\n')", "upper()", "lower()", "capitalize()", "replace('a', 'Z')", "replace('', '_', 2)",
    "removeprefix('a')", "removesuffix('X')", "join(['p', 'q'])", "split(' ')[0]", "split('X')[-1]", "split('</musing>')[-1].lstrip('\\n')",
]  # fmt: skip
JSON_ARGUMENTS = ["", "(indent=2)", "(sort_keys=true)", "(separators=(',', ':'))", "(false, 4)", "(indent=0)", "(indent='\\t')"]
SLICES = ["::-1", ":2", "1:", "-2:", "::2", "1:3", ":-1", "3:0:-1", "-1::-2", "n:", ":none"]
LISTS = [
    "l", "messages", "[tool]", "e", "[1, 'a', none]", "[1.0, true, 'x']", "['b', 'A', 'a', 'C']", "tool.parameters.required", "messages|map(attribute='role')|list",
    "messages|selectattr('role', 'equalto', 'user')|list", "messages|rejectattr('x')|list", "messages|sort(attribute='role')", "['b', 'A', 'a']|sort",
    "messages|map(attribute='x', default='D')|list", "messages|selectattr('x', 'defined')|list", "[3, 1.5, 2]|sort(reverse=true)", "['a', 'A', 'b']|unique|list",
    "[1, none, '', 0]|select|list", "[1, none, 'a']|select('string')|list", "['\ud7ff', '\uff21', '\U0001f642']|sort", "[2, true, 1.0, 1]|unique|list",
]  # fmt: skip
SPLITS = ["split()", "split(',')", "split('X', 1)", "split(none, 1)", "split(' ', 0)", "split(maxsplit=1)", "splitlines()", "rsplit(',', 1)"]
TYPES = ["defined", "undefined", "none", "string", "number", "integer", "float", "mapping", "sequence", "iterable", "boolean", "true", "false", "callable"]
JOINS = ["", "(', ')", "(d='-')"]
COUNTS = ["find('a')", "rfind('b')", "count('a')"]
TEXT_TESTS = ["startswith('a')", "endswith(('b c', 'X'))", "isspace()", "islower()"]
KEYS = ["'role'", "'nope'", "'nope', 3"]
PARAMETERS = ["a, b=2", "a='1'", "a=1, b=a", ""]
BLOCK_FILTERS = ["upper", "trim", "replace('a', 'o')", "indent(2)"]
FILLERS = ["", "", "x", "\n", "  ", "y \n  ", "<|im|>", "\n    ", "}", "{ ", "%}\n", "\t", "-}\n", "\n  {-", "#}\n", "'\"", "\ufeff ", " \u0085\n "]
LOOPS = [
    ("messages", "m"), ("l", "m"), ("d.items()", "k, v"), ("messages[::-1]", "m"), ("range(3)", "m"), ("d|dictsort", "k, v"), ("messages|selectattr('role')", "m"),
    ("missing", "m"), ("d", "m"), ("s[:3]", "m"), ("d|items", "(k, v)"), ("e", "m"), ("range(n, 0, -2)", "m"),
]  # fmt: skip
IN_LOOPS = [
    "{{ loop.index }}", "{{ m.role }}", "{{ loop.last }}", "{{ m }}", "{% if loop.first %}{% continue %}{% endif %}", "{% if loop.index0 == 1 %}{% break %}{% endif %}",
    "{{ loop.previtem.role if loop.previtem }}", "{{ loop.nextitem is defined }}", "{{ q }}{% set q = loop.index %}", "{{ k }}={{ v }}", "{{ loop.revindex }}",
    "{% if loop.index == 2 %}{% set q = 'two' %}{% endif %}{{ q }}", "{{ bos }}{% set bos = loop.index %}",
]  # fmt: skip
CALLS = ["{{ mac() }}", "{% for q in [1, 2] %}{{ mac() }}{% endfor %}", "{% set q = 5 %}{{ mac() }}", "{% call mac() %}C{{ q }}{% endcall %}"]
ENDINGS = ["{{ a }}", "{{ b }}", "{{ q }}", "{{ caller() if caller }}", "{{ m }}"]
TOP = ["{{ q }}", "{{ w }}", "{{ k }}", "{{ bos }}", "{{ n }}", "{{ s }}", "{# c #}", "{#- c -#}\n", "{#+ {% if %} +#} \n"]


class Writer:
    """Writes expressions of a wanted kind, so that most templates render."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)

    def pick(self, depth: int, simple: list[str], *rules) -> str:
        if depth > 3 or self.draw.random() < 0.25:
            return self.draw.choice(simple)
        return self.draw.choice(rules)(depth + 1)

    def one(self, options: list):
        return self.draw.choice(options)

    def text(self, depth: int) -> str:
        return self.pick(
            depth,
            TEXTS,
            lambda d: f"({self.text(d)})|{self.one(TEXT_FILTERS)}",
            lambda d: f"({self.text(d)}).{self.one(TEXT_METHODS)}",
            lambda d: f"({self.text(d)})[{self.one([*SLICES, '0', '-1'])}]",
            lambda d: f"({self.text(d)} {self.one(['+', '~'])} {self.text(d)})",
            lambda d: f"({self.any(d)} ~ {self.any(d)})",
            lambda d: f"({self.any(d)})|tojson{self.one(JSON_ARGUMENTS)}",
            lambda d: f"({self.any(d)})|string",
            lambda d: f"({self.list(d)})|join{self.one(JOINS)}",
            lambda d: f"({self.text(d)} if {self.truth(d)} else {self.text(d)})",
        )

    def int(self, depth: int) -> str:
        return self.pick(
            depth,
            [*(str(i) for i in range(-3, 12)), "n", "z", "1000003"],
            lambda d: f"({self.one([self.text, self.list, self.dict])(d)})|length",
            lambda d: f"({self.int(d)} {self.one(['+', '-', '*', '//', '%'])} {self.int(d)})",
            lambda d: f"({self.text(d)})|int{self.one(['', '(7)'])}",
            lambda d: f"({self.float(d)})|int",
            lambda d: f"({self.text(d)}).{self.one(COUNTS)}",
            lambda d: f"-({self.int(d)})|abs",
        )

    def float(self, depth: int) -> str:
        return self.pick(
            depth,
            ["1.0", "0.5", "2.25", "-1.5", "0.1", "f", "big", "123456789012345680.0", "0.00001", "0.000123"],
            lambda d: f"({self.one([self.int, self.float])(d)} {self.one(['/', '*', '+', '-', '//', '%'])} {self.float(d)})",
            lambda d: f"({self.text(d)})|float",
            lambda d: f"({self.int(d)} / {self.int(d)})",
        )

    def truth(self, depth: int) -> str:
        return self.pick(
            depth,
            ["true", "false", "b", "none is none"],
            lambda d: f"({self.any(d)} is {self.one(['', 'not '])}{self.one(TYPES)})",
            lambda d: f"({self.text(d)} is {self.one(['upper', 'lower'])})",
            lambda d: f"({self.any(d)} {self.one(['==', '!='])} {self.any(d)})",
            lambda d: f"({self.text(d)} {self.one(['<', '>', '<=', 'in', 'not in'])} {self.text(d)})",
            lambda d: f"({self.int(d)} {self.one(['<', '>=', '>'])} {self.float(d)})",
            lambda d: f"({self.any(d)} {self.one(['in', 'not in'])} {self.list(d)})",
            lambda d: f"({self.text(d)} in {self.dict(d)})",
            lambda d: f"({self.text(d)}).{self.one(TEXT_TESTS)}",
            lambda d: f"({self.truth(d)} {self.one(['and', 'or'])} {self.truth(d)})",
            lambda d: f"(not {self.any(d)})",
        )

    def list(self, depth: int) -> str:
        return self.pick(
            depth,
            LISTS,
            lambda d: "[" + ", ".join(self.any(d + 1) for _ in range(self.draw.randint(0, 3))) + "]",
            lambda d: f"({self.text(d)}).{self.one(SPLITS)}",
            lambda d: f"({self.text(d)})|list",
            lambda d: f"({self.list(d)})[{self.one(SLICES)}]",
            lambda d: f"({self.list(d)} + {self.list(d)})",
            lambda d: f"({self.dict(d)})|{self.one(['items|list', 'dictsort', 'dictsort(reverse=true)', 'list'])}",
            lambda d: f"({self.dict(d)}).{self.one(['items()', 'keys()', 'values()'])}|list",
            lambda d: f"({self.list(d)})|reverse|list",
        )

    def dict(self, depth: int) -> str:
        return self.pick(
            depth,
            ["d", "messages[0]", "messages[1]", "tool", "tool.parameters", "{'b': 1, 'a': 'x', 'C': none}", "{}"],
            lambda d: "{" + ", ".join(f"'{key}': {self.any(d + 1)}" for key in self.draw.sample(["a", "role", "z", "B", "items"], 2)) + "}",
        )

    def any(self, depth: int) -> str:
        return self.pick(
            depth,
            ["none", "missing", *TEXTS[:6], "n", "f", "l", "d"],
            self.text, self.text, self.int, self.float, self.truth, self.list, self.dict,
            lambda d: f"({self.dict(d)}).{self.one(['role', 'content', 'x', 'name', 'a', 'tool_calls'])}",
            lambda d: f"({self.dict(d)}).get({self.one(KEYS)})",
            lambda d: f"({self.list(d)})|{self.one(['first', 'last'])}",
            lambda d: f"({self.any(d)} {self.one(['and', 'or'])} {self.any(d)})",
            lambda d: f"({self.any(d)} if {self.truth(d)})",
            lambda d: f"({self.any(d)}|default({self.any(d)}{self.one(['', ', true'])}))",
        )  # fmt: skip

    def tag(self, inner: str) -> str:
        after = self.one(["", "\n", "\n  ", " ", "\n\n", "\n\u00a0 "])
        return f"{self.one(['{%', '{%-', '{%', '{%+'])} {inner} {self.one(['%}', '-%}', '%}', '+%}'])}{after}"

    def body(self, depth: int, in_loop: bool = False) -> str:
        inner = "".join(self.statement(depth + 1) for _ in range(self.draw.randint(1, 3)))
        return inner + (self.one(IN_LOOPS) if in_loop and self.draw.random() < 0.7 else "")

    def output(self) -> str:
        kind = self.one([self.text, self.text, self.any, self.int, self.float, self.truth, self.list])
        opened, closed = self.one(["{{", "{{-"]), self.one(["}}", "-}}"])
        return f"{self.one(FILLERS)}{opened} {kind(self.draw.randint(0, 2))} {closed}{self.one(FILLERS)}"

    def statement(self, depth: int = 0) -> str:
        share = self.draw.random()
        if depth > 3 or share < 0.4:
            return self.output()
        if share < 0.5:
            otherwise = self.tag("else") + self.body(depth) if self.draw.random() < 0.5 else ""
            other = self.tag(f"elif {self.truth(1)}") + self.body(depth) if self.draw.random() < 0.3 else ""
            return self.tag(f"if {self.truth(1)}") + self.body(depth) + other + otherwise + self.tag("endif")
        if share < 0.66:
            iterable, target = self.one([*LOOPS, (self.list(2), "m")])
            condition = self.one(["", "", f" if {self.truth(2)}", " if m is defined and m is mapping"])
            otherwise = self.tag("else") + self.body(depth) if self.draw.random() < 0.25 else ""
            return self.tag(f"for {target} in {iterable}{condition}") + self.body(depth, True) + otherwise + self.tag("endfor")
        if share < 0.76:
            return self.tag(f"set {self.one(['q', 'w', 's', 'n', 'bos', 't'])} = {self.any(1)}")
        if share < 0.80:
            return self.tag("set ns = namespace(a=1, b=s)") + self.tag(f"set ns.a = {self.any(2)}") + "{{ ns.a }}{{ ns.c }}"
        if share < 0.84:
            return self.tag(f"set {self.one(['q', 'w'])}") + self.body(depth) + self.tag("endset")
        if share < 0.89:
            head = self.tag(f"macro mac({self.one(PARAMETERS)})")
            return head + self.body(depth) + self.one(ENDINGS) + self.tag("endmacro") + self.one(CALLS)
        if share < 0.92:
            return self.tag(f"filter {self.one(BLOCK_FILTERS)}") + self.body(depth) + self.tag("endfilter")
        if share < 0.95:
            return self.tag("generation") + self.body(depth) + self.tag("endgeneration")
        return self.one(TOP)


def main() -> None:
    count, seed = ([int(value) for value in sys.argv[1:]] + [5000, 1][len(sys.argv) - 1 :])[:2]
    writer = Writer(seed)
    conversation = {"messages": MESSAGES, "variables": VARIABLES}
    cases = [("".join(writer.statement() for _ in range(writer.draw.randint(1, 4))), conversation, True) for _ in range(count)]
    counts, reasons, lenient = Counter(), Counter(), []
    for case, our in zip(cases, ours(cases, {}), strict=True):
        their = theirs(*case, {})
        found = verdict(our, their)
        counts[found] += 1
        if found == "different":
            print(f"{case[0]!r}: {found}\n  ours   {our['text']!r}\n  theirs {their['text']!r}")
        elif found == "rendered where transformers refuses":
            lenient.append((case[0], their["error"]))
        elif found == "refused by ours":
            reasons[our["error"].split(" (line ")[0].split(": ", 1)[1]] += 1
    for template, error in sorted(lenient, key=lambda each: len(each[0]))[:3]:
        print(f"rendered where transformers refuses: {template!r}: {error}")
    for reason, number in reasons.most_common(8):
        print(f"{number} x refused by ours: {reason}")
    print(f"{count} templates, seed {seed}: {dict(counts)}")
    sys.exit(1 if counts["different"] else 0)


if __name__ == "__main__":
    main()
