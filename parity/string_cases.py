"""Some 2,700 strings for comparing tokenizers: every kind of text that is known to be split differently somewhere."""

import itertools
import random
import unicodedata

from text_cases import PIECES, PLAIN
from tokenizers import normalizers

CODE = [
    'def area(r):\n    """Of a disc."""\n    return 3.14159 * r ** 2  # not exact\n',
    "for i in range(0, 10, 3):\n\tprint(f'{i:>04d}', end=' ')\n\n\n",
    "const add = async (a: number, b?: string): Promise<void> => { await f(a ?? 0x1F, `${b}\\n`); };",
    "if (x !== y && !(z || w)) {\r\n\treturn x?.y![0] ?? null;\r\n}\r\n",
    "#include <stdio.h>\nint main(void) {\n  printf(\"%5.2f%%\\n\", 1.0e-7);\n  return 0;\n}\n",
    "template<typename T> auto max(T&& a, T&& b) -> decltype(a) { return a<b ? b : a; } // C++20",
    "fn main() {\n    let v: Vec<u8> = (0..=255).filter(|x| x % 7 == 0).collect();\n    println!(\"{v:?}\");\n}",
    "func Map[K comparable, V any](m map[K]V) []K { for k := range m { _ = k }; return nil }",
    "SELECT a.id, COUNT(*) AS n FROM \"t\" a LEFT JOIN b USING (id) WHERE n >= 3 GROUP BY 1;",
    "<div class=\"a b\" data-x='1'>\n  <!-- &nbsp; --> <p>x &lt; y</p>\n</div>",
    "body { margin: 0 auto; color: #fF00aa; } @media (max-width: 10em) { a::after { content: '\\201C'; } }",
    "grep -rnE '^[[:space:]]*(foo|bar)+$' ./src | awk '{print $2}' > /dev/null 2>&1 || exit 1",
    "\\begin{align} \\int_0^\\infty e^{-x^2}\\,dx &= \\frac{\\sqrt{\\pi}}{2} \\\\ \\end{align}",
    "main :: IO ()\nmain = mapM_ print $ takeWhile (<100) [x^2 | x <- [1..], odd x]\n",
    "{\"a\": [1, 2.50, -3e+10, null, true], \"\\u00e9\": {\"b\\\"c\": \"\\\\d\"}}",
    "key: value\nlist:\n  - one\n  - 'two'\n  - |\n    block\n\n    text\n",
    "|a|b|\n|:-|-:|\n|**1**|_2_|\n\n```py\nx=1\n```\n> quote\n\n1. one\n   - two\n",
    "ENTRY: mov eax, DWORD PTR [rbp-0x14]\n\tjne .L2 ; loop\n",
]  # fmt: skip

WORDS = [
    "don't", "I'M", "we'Ll", "they'RE", "you'vE", "he'D", "it'S", "o'clock", "'tis", "rock'n'roll", "x'y'z", "can''t", "she\u2019s", "we\u2019ll", "l'\u00e9t\u00e9",
    "dog's's", "'s", "'S\u017f", "'\u017f", "'\u017ftop", "'ll'", "'LLama", "'re-do", "1'st", "_'s", "\u00e9's", "\u9eb2's", "'\u212as", "'d.", " 's", "\n's",
]  # fmt: skip

EMOJI = [
    "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466", "\U0001f9d1\U0001f3fd\u200d\U0001f4bb", "\U0001f3f3\ufe0f\u200d\U0001f308", "\u2764\ufe0f\u200d\U0001f525", "\U0001f1f3\U0001f1f4\U0001f1f8", "7\ufe0f\u20e3",
    "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", "\U0001f44d\U0001f3ff", "\u261d\ufe0e", "\U0001f600\u200d", "\u00a9\ufe0f", "\U0001f9d1\u200d\U0001f91d\u200d\U0001f9d1", "\u200d\U0001f525", "\U0001f1f3",
]  # fmt: skip

SPECIAL_PARTS = ["<|turn|>", "<|/turn|>", "<|endoftext|>", "<|says|>", "<|begin_of_text|>", "<|end_of_text|>", "<musing>", "</musing>", "<call>", "</call>"]  # fmt: skip
SPECIAL_PARTS += ["<|turn", "/turn|>", "<|<|/turn|>|>", "< |/turn|>", "<|/TURN|>", "<musing", "</ musing>", "<|/turn|", "|>", "<|"]

# Newer than Unicode 13: the sides' tables of letters and digits differ there.
NEWER = [(0x0870, 0x089f), (0x1dfa, 0x1dfa), (0x2c2f, 0x2c2f), (0xa7c0, 0xa7c1), (0xa7d0, 0xa7f4), (0x10570, 0x105bf), (0x10780, 0x107bf), (0x12f90, 0x12fff), (0x1b120, 0x1b16f), (0x1df00, 0x1dfff), (0x1e290, 0x1e2bf), (0x1fadd, 0x1fadf), (0x1fae8, 0x1faef), (0x1faf0, 0x1faff)]  # fmt: skip


def _reordered(char: str) -> bool:
    """Whether the Rust library's NFC, which knows Unicode 9, moves the mark to where today's Unicode has it."""
    text = f"q\u0301{char}" if unicodedata.combining(char) == 1 else f"q{char}\u0334"
    return normalizers.NFC().normalize_str(text) == unicodedata.normalize("NFC", text)


def _by_category() -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for code in range(0x110000):
        if 0xD800 <= code < 0xE000 or any(low <= code <= high for low, high in NEWER):
            continue
        char = chr(code)
        if not unicodedata.combining(char) or _reordered(char):
            groups.setdefault(unicodedata.category(char), []).append(char)
    # Unassigned code points may be assigned one day; these planes are far from it, and noncharacters never are.
    groups["Cn"] = [chr(plane * 0x10000 + low) for plane in range(4, 14) for low in (0, 0x1234, 0xFFFD, 0xFFFE, 0xFFFF)]
    groups["Cn"] += ["\ufdd0", "\ufdef", "\ufffe", "\uffff"]
    return groups


def many_strings(seed: int = 1) -> list[str]:
    draw = random.Random(seed)
    groups = _by_category()
    found = [*PLAIN, *CODE, *WORDS, *EMOJI, *SPECIAL_PARTS]

    # Each general category alone, doubled, within words, behind spaces.
    for name in sorted(groups):
        for char in draw.sample(groups[name], min(14, len(groups[name]))):
            other = draw.choice(groups[name])
            found += [char + other, f"a{char}b {char}{other}{char} 1{char}"]
    # Every decimal digit system, in runs of one to seven.
    zeros = [char for char in groups["Nd"] if unicodedata.digit(char) == 0]
    for zero in zeros:
        found.append("".join(chr(ord(zero) + draw.randrange(10)) for _ in range(draw.randint(1, 7))) + " x" + zero * 4)
    found += ["12" * n + "3" for n in range(8)] + [f"{'9' * n}a{'0' * n}" for n in range(1, 9)]
    # Runs of white space between, before and behind other things.
    blanks = [" ", "  ", "   ", "\t", "\t\t", " \t", "\n", "\n\n", "\n \n", "\r", "\r\n", "\r\n\r\n", "\u00a0", "\u3000", "\u2003", "\u0085", "\u2028", "\ufeff", "\u200b", "\u180e", "\x1c", "\x0b", "\x0c", "\x00"]  # fmt: skip
    for one, two in itertools.product(blanks, repeat=2):
        left, right = draw.choice(["", "a", "7", ".", "\u9eb2", "'s"]), draw.choice(["", "b", "42", "!", "\U0001f642", "the"])
        found.append(left + one + two + right)
    # Combining marks: in and out of order, without a base, many of them, Hangul, and what NFC must not compose.
    marks = [char for char in groups["Mn"] if unicodedata.combining(char)]
    bases = [*"aeiouAEIOUcnsyz", "\u03b1", "\u0418", "\u0915", "\u1100", "\u3042", "\u0b47", "\u00c5", "\u212b", "\u2126", "\ufb1d"]
    for _ in range(160):
        found.append("".join(draw.choice(bases) + "".join(draw.choices(marks, k=draw.randint(0, 4))) for _ in range(draw.randint(1, 4))))
    found += [chr(0x1100 + i) + chr(0x1161 + i) + (chr(0x11A8 + i) if i % 2 else "") for i in range(19)]
    found += [unicodedata.normalize("NFD", text) for text in PLAIN if unicodedata.normalize("NFD", text) != text]
    # Long words, right-to-left text, odd bytes.
    found += [unit * 400 for unit in ("a", "ab1", "é", "\u9eb2", "\U0001f642", " ", "\n", "-", "x y ", "'s", "\u0301", "<|/turn|>")]
    found += ["\u05e9\u05dc\u05d5\u05dd \u200f12:30\u200e (abc)", "\u202e\u0645\u0631\u062d\u0628\u0627\u202c 7\u066b5", "\u2067\u05d0\u2069\u05d1\u05bc\u05b8", "\ufffd\ufffd a\ufffd", "\x00\x00a\x00", "\x7f\x80\x9f\xa0\xad\xff"]
    # Everything mixed; special tokens stand right at what surrounds them.
    everything = [char for group in groups.values() for char in draw.sample(group, min(40, len(group)))]
    for _ in range(420):
        found.append("".join(draw.choices(PIECES + SPECIAL_PARTS + WORDS + EMOJI, k=draw.randint(2, 14))))
    for _ in range(320):
        found.append("".join(draw.choices(everything + [" ", " ", "\n", "a", "1"], k=draw.randint(2, 24))))
    for _ in range(160):
        text = draw.choice(CODE)
        start = draw.randrange(len(text))
        found.append(text[start : start + draw.randint(1, 60)])
    # White space that not everybody takes for such, right beside added tokens: some of them take it away.
    for blank, token in itertools.product(["\ufeff", "\u0085", "\x1c", "\u180e", "\u00a0"], ["<|turn|>", "<|/turn|>", "<musing>", "</musing>"]):
        found += [f"a{blank}{token}{blank}b", f"a {blank}{token}{blank} b", f"{token}{blank} {token}"]
    return list(dict.fromkeys(found))
