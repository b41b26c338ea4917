"""CS336's fast grader, derived again from its description in Python with SymPy, beside ours.

    node parity/math_verdicts.mjs PAIRS... > verdicts.jsonl
    python parity/math_graders.py verdicts.jsonl

PAIRS are files of `answer<TAB>gold...` such as fixtures/math-pairs.tsv, or JSON Lines with a GSM8K `answer`, of which
variants are made. Prints the agreement, and every kind of difference with its first pairs. Needs sympy and lark.

Two equalities are computed. `fast`: the assignment's two normalisers and its comparison by SymPy with its refusals.
`symbolic`: gold and answer read by SymPy's own LaTeX grammar, equal when their difference simplifies to 0; it has no
opinion on what that grammar does not read (words, tuples, units), and is compared with mathEqual.
"""

import json
import re
import signal
import sys
from collections import Counter, defaultdict

import sympy
from sympy.parsing.latex import parse_latex
from sympy.parsing.sympy_parser import (
    implicit_multiplication_application,
    parse_expr,
    standard_transformations,
)

UNITS = (
    "mm cm dm m km inch in foot feet ft yard yd mile acre hectare mg g gm kg ton pound lb ounce oz ml liter litre gallon "
    "second sec minute min hour hr day week month year mph kmph dollar cent degree radian unit percent people apple orange "
    "student point meter metre centimeter per sq square cubic"
).split()
SMALL_UNITS = "degree cm centimeter meter mile second minute hour day week month year foot feet inch yard".split()
SECONDS = 5


class Late(Exception):
    pass


def limited(compute, default):
    def stop(*_):
        raise Late

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        return compute()
    except Exception:
        return default
    finally:
        signal.alarm(0)


def group(text, at):
    """The balanced {...} at a place: its content and where it ends."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            return text[at + 1 : i], i + 1
    raise ValueError(text)


def common(text):
    text = text.strip().rstrip(".").replace("\\!", "").replace("\\,", "").replace("{,}", ",")
    for a, b in [("−", "-"), ("\\left", ""), ("\\right", ""), ("dfrac", "frac"), ("tfrac", "frac"), ("\\displaystyle", "")]:
        text = text.replace(a, b)
    text = re.sub(r"\\[()\[\]]", "", text)
    return re.sub(r"\\(?:text|textbf|mathrm|mathbf|mbox)\s*\{(.*?)\}", r" \1 ", text)


def normal(text):
    """The first normaliser: text equality after it is equality."""
    tail = re.sub(r"\\text\s*\{[^{}]*\}\s*$", "", text)
    text = common(tail if tail.strip() else text)
    text = re.sub(r"\{(?:[bv]matrix|array)\}(?:\{[lcr|]*\})?", "{pmatrix}", text)
    text = re.sub(r"\^\s*\{?\s*\\circ\s*\}?|°", "", text)
    text = re.sub(r"\\?[$%]", "", text)
    text = re.sub(r"\\([nlg])eq?(?![a-z])", r"\\\1e", text)
    units = "|".join(sorted(UNITS, key=len, reverse=True))
    bare = re.sub(rf"(^|\W)(?:{units})(?:e?s)?(?=\W|$)", r"\1", text, flags=re.I)
    text = re.sub(r"\s", "", bare) or re.sub(r"\s", "", text)
    text = re.sub(r"(^|[^\d])\.(?=\d)", r"\g<1>0.", text)
    sides = text.split("=")
    if len(sides) == 2 and len(sides[0]) <= 2:
        text = sides[1]
    text = re.sub(r"\\sqrt(?=[^{\[\\])(.)", r"\\sqrt{\1}", text)
    text = re.sub(r"\\frac([^{\\])([^{\\])", r"\\frac{\1}{\2}", text)
    if text == "0.5":
        return "\\frac{1}{2}"
    return re.sub(r"^(-?\d+)/(-?\d+)$", r"\\frac{\1}{\2}", text)


def latex_to_text(text):
    out, at = "", 0
    while at < len(text):
        if text.startswith("\\frac", at):
            rest = at + 5
            parts = []
            for _ in range(2):
                while rest < len(text) and text[rest] == " ":
                    rest += 1
                if rest < len(text) and text[rest] == "{":
                    inner, rest = group(text, rest)
                else:
                    inner, rest = text[rest : rest + 1], rest + 1
                parts.append(latex_to_text(inner))
            bare = all(re.fullmatch(r"\w+", part) for part in parts)
            out += " " + (f"{parts[0]}/{parts[1]}" if bare else f"({parts[0]})/({parts[1]})")
            at = rest
        elif text.startswith("\\sqrt{", at):
            inner, at = group(text, at + 5)
            out += f"sqrt({latex_to_text(inner)})"
        else:
            out += text[at]
            at += 1
    for a, b in [("\\cdot", "*"), ("\\times", "*"), ("\\infty", "inf"), ("\\cup", "u"), ("\\pm", "±"), ("\\mp", "∓"), ("√", "sqrt"), ("π", "pi"), ("∞", "inf")]:
        out = out.replace(a, b)
    out = re.sub(r"\^\{(\w)\}", r"^\1", out)
    return re.sub(r"\\([{}])", r"\1", re.sub(r"\\([a-z]+)", r"\1", out))


def plain(text):
    """The second normaliser."""
    text = re.sub(r"\\?[$%]", "", common(text).lower())
    text = re.sub(r"\^\s*\{?\s*\\circ\s*\}?|°", "", text)
    text = re.sub(r"\b(?:or|and)\b", ",", text)
    for word, power in [("million", 6), ("billion", 9), ("trillion", 12)]:
        text = re.sub(rf"\s*{word}s?\b", f"*10^{power}", text)
    text = re.sub(rf"\s*(?:{'|'.join(SMALL_UNITS)})(?:es|s)?(?![a-z])(?:\s*\^\{{?\d+\}}?)?", "", text)
    try:
        text = latex_to_text(text).strip()
    except ValueError:
        pass  # Braces that do not balance stay as they are.
    text = re.sub(r"(?<![\d.])(\d+) +(\d+/\d+)", r"(\1+\2)", text)
    text = re.sub(r"\s", "", text)
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1]
    if re.fullmatch(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?|-?\d+\.\d*", text):
        text = re.sub(r"\.0*$", "", text.replace(",", ""))
    return text


def whole(text):
    try:
        value = float(text)
        return abs(value - round(value)) <= 1e-7
    except (ValueError, OverflowError):
        return False


def same_element(a, g):
    if a == g:
        return True
    fraction = r"-?\d+/0*[1-9]\d*"
    if re.fullmatch(fraction, a) and re.fullmatch(fraction, g):
        return False
    if whole(a) != whole(g):
        return False
    for text in (a, g):
        letters = {c for c in text.replace("sqrt", "").replace("frac", "") if c.isalpha()}
        if len(letters) > 2 or re.search(r"\^[{(]|\^\d+\^|\^\d\d", text):
            return False
    rules = (*standard_transformations, implicit_multiplication_application)
    difference = f"({g})-({a})".replace("^", "**")
    return limited(lambda: sympy.simplify(parse_expr(difference, transformations=rules)) == 0, False)


def elements(text):
    return text[1:-1].split(",") if re.fullmatch(r"[(\[][^()\[\]]+[)\]]", text) else [text]


def fast(answer, gold):
    if not answer.strip() or not gold.strip():
        return False
    if normal(answer) == normal(gold):
        return True
    a, g = plain(answer), plain(gold)
    if a == g:
        return True
    if not a or not g:
        return False
    items, golds = elements(a), elements(g)
    if len(golds) > 1 and (a[0] != g[0] or a[-1] != g[-1]):
        return False
    return len(items) == len(golds) and all(map(same_element, items, golds))


def symbolic(answer, gold):
    """Equality by SymPy's LaTeX grammar; None without an opinion."""

    def read(text):
        tree = parse_latex(text.strip("$ "), backend="lark")
        if not isinstance(tree, sympy.Expr):
            raise ValueError(text)
        named = {sympy.Symbol("pi"): sympy.pi, sympy.Symbol("e"): sympy.E, sympy.Symbol("i"): sympy.I}
        return tree.subs(named)

    def compare():
        if re.search(r"[a-zA-Z]{2}", re.sub(r"\\[a-zA-Z]+", "", answer + " " + gold)):
            return None
        return bool(sympy.simplify(read(answer) - read(gold)) == 0)

    return limited(compute=compare, default=None)


def report(name, rows):
    agreed = sum(a == b for _, _, a, b, _ in rows)
    print(f"{name}: {agreed} of {len(rows)} pairs agree")
    kinds = defaultdict(list)
    for answer, gold, ours, theirs, rule in rows:
        if ours != theirs:
            kinds["ours equal" if ours else "ours unequal", rule].append((answer, gold))
    for (side, rule), pairs in sorted(kinds.items(), key=lambda kind: -len(kind[1])):
        print(f"  {side} ({rule}): {len(pairs)}")
        for answer, gold in pairs[:12]:
            print(f"    {answer!r} for {gold!r}")


def main():
    rows = [json.loads(line) for line in open(sys.argv[1], encoding="utf8")]
    for source in Counter(row["source"] for row in rows):
        part = [row for row in rows if row["source"] == source]
        print(f"\n{source}: {len(part)} pairs")
        report("fast", [(r["answer"], r["gold"], r["fast"], fast(r["answer"], r["gold"]), r["fastRule"]) for r in part])
        read = [(r["answer"], r["gold"], r["math"], symbolic(r["answer"], r["gold"]), r["mathRule"]) for r in part]
        report("symbolic", [row for row in read if row[3] is not None])


main()
