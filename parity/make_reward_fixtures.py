"""What TRL's reward functions give. Writes fixtures/rewards.json: numbers and our own texts only."""

import json
import random
from pathlib import Path

import trl
from trl import rewards
from trl.rewards import accuracy_rewards

THINK = [
    "<think>a</think>b",
    "<think></think>",
    "<think>\na\n\n</think>\n\nb\n",
    "<think>a</think>",
    "<think>a</think>b</think>c",
    " <think>a</think>b",
    "\n<think>a</think>b",
    "a<think>b</think>c",
    "<think>a",
    "a</think>b",
    "</think><think>",
    "<think><think>a</think></think>b",
    "<think>a</think><think>b</think>",
    "<think>a</think>b<think>",
    "<Think>a</Think>b",
    "<think >a</think>b",
    "think>a</think>b",
    "",
    "<think>" * 2 + "</think>",
    "<think>é\u2028海</think>\U0001f30a",
]


def content(text: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": text}]


def repetitions(draw: random.Random) -> list[dict]:
    cases = [[1, 2, 3, 4], [5] * 5, [1, 2, 1, 2, 1, 2], [1, 2, 3, 1, 2, 3], [1], []]
    cases += [[draw.randrange(3) for _ in range(draw.randrange(40))] for _ in range(20)]
    return [
        {"ids": ids, "ngram": n, "maxPenalty": p, "value": rewards.get_repetition_penalty_reward(n, p)([ids])[0]}
        for ids in cases
        for n, p in [(2, -1.0), (3, -1.0), (3, -0.5), (1, -2.0)]
    ]


def cosines(lengths: list[int]) -> list[dict]:
    # Whether an answer is right is not what is compared here, and the grader needs a package of its own.
    cases = []
    bounds = [(-1.0, -0.5, 0.5, 1.0), (-10.0, 0.0, 1.0, 2.0)]
    for wrong_min, wrong_max, right_min, right_max in bounds:
        for correct in (True, False):
            accuracy_rewards.accuracy_reward = lambda completions, solution, right=correct, **_: [float(right)]
            reward = rewards.get_cosine_scaled_reward(100, wrong_min, wrong_max, right_min, right_max)
            for length in lengths:
                value = reward([content("")], [""], [[1] * length])[0]
                settings = {"maxTokens": 100, "wrongShort": wrong_min, "wrongLong": wrong_max}
                settings |= {"correctLong": right_min, "correctShort": right_max}
                cases.append({"correct": correct, "length": length, "settings": settings, "value": value})
    return cases


def main() -> None:
    draw = random.Random(0)
    lengths = [0, 1, 25, 50, 75, 99, 100, 101, 500]
    expected = {
        "trl": trl.__version__,
        "thinkFormat": [
            {"text": text, "value": rewards.think_format_reward([content(text)])[0]} for text in THINK
        ],
        "repetition": repetitions(draw),
        "cosineLength": cosines(lengths),
        "overlong": [
            {
                "length": length,
                "maxTokens": most,
                "buffer": buffer,
                "value": rewards.get_soft_overlong_punishment(most, buffer)([[1] * length])[0],
            }
            for most, buffer in [(100, 20), (100, 100), (1280, 256)]
            for length in [*lengths, 50, 80, 81, 90, 110, 1024, 1100, 1281]
        ],
    }
    path = Path(__file__).parent / "fixtures" / "rewards.json"
    path.write_text(json.dumps(expected, ensure_ascii=False) + "\n")
    print({key: len(cases) for key, cases in expected.items()}, path.stat().st_size)


if __name__ == "__main__":
    main()
