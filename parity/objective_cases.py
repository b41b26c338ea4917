"""The inputs of the objective's golden vectors: reward tables and batches. objective_matrix.py makes cases of them."""

import random


def table(name: str, weights: list[float], group: int, rewards: list[list[float | None]]) -> dict:
    return {"name": name, "weights": weights, "groupSize": group, "rewards": rewards}


def random_rewards(seed: int, rows: int, functions: int) -> list[list[float]]:
    rng = random.Random(seed)
    return [[round(rng.gauss(0.3, 1 + k), 6) for k in range(functions)] for _ in range(rows)]


TWO_GROUPS = [[1.0, 0.2], [0.0, 0.4], [0.0, 0.1], [1.0, 0.9], *[[1.0, 0.5]] * 4]

# rewards [B, number of reward functions]; None is a reward that a function did not give.
REWARD_TABLES = [
    table("two functions, two groups, one without variance", [1.0, 0.5], 4, TWO_GROUPS),
    table("one of four", [1.0], 4, [[1.0], [0.0], [0.0], [0.0]]),
    table("group of two", [1.0], 2, [[1.0], [0.0]]),
    table(
        "missing rewards, one row with none at all",
        [1.0, 1.0],
        4,
        [[1.0, None], [None, None], [0.0, None], [1.0, 2.0]],
    ),
    table(
        "one row of a group scored, the other group whole",
        [1.0],
        3,
        [[None], [2.0], [None], [0.5], [1.5], [-3.0]],
    ),
    table("eight times 0.2", [1.0], 8, [[0.2]] * 8),
    table("eight times 0.9", [1.0], 8, [[0.9]] * 8),
    table("eight times 5.7, then a mixed group", [1.0], 8, [[5.7]] * 8 + random_rewards(5, 8, 1)),
    table("seven times 0.9", [1.0], 7, [[0.9]] * 7),
    table("a group without any reward", [1.0, 2.0], 3, [[None, None]] * 3 + random_rewards(6, 3, 2)),
    table("three functions, a weight 0, a negative one", [0.7, 0.0, -0.3], 4, random_rewards(7, 12, 3)),
    table("7, 3, 7, 6", [1.0], 4, [[7.0], [3.0], [7.0], [6.0]]),
]
# Equal rewards that are no dyadic fractions: TRL's float32 leaks an advantage, which is kept as it is.
LEAKING = [made for made in REWARD_TABLES if "times" in made["name"]]

# B=2, C=4. The last position of row 1 is padding with values that would show if they entered.
SMALL = {
    "logps": [[-0.5, -1.0, -0.2, -0.7], [-1.5, -0.3, -0.9, -9.0]],
    "oldLogps": [[-0.6, -0.7, -0.2, -1.2], [-1.2, -0.35, -1.6, -9.0]],
    "refLogps": [[-0.4, -1.1, -0.3, -0.9], [-1.0, -0.5, -0.8, -3.0]],
    "entropies": [[0.9, 1.3, 0.2, 0.6], [1.8, 0.4, 1.1, 5.0]],
    "mask": [[1, 1, 1, 1], [1, 1, 1, 0]],
    "advantages": [1.0, -0.5],
}
SMALL_SAMPLING = [[-0.65, -0.72, -0.15, -1.0], [-1.3, -0.3, -2.9, 0.0]]


def ragged(seed: int) -> dict:
    """B=6, C=9: completions of 9 … 0 tokens, ratios on both sides of the clip range, one advantage of 0."""
    rng = random.Random(seed)
    lengths = [9, 4, 7, 1, 5, 0]
    logps = [[round(-rng.expovariate(1), 6) for _ in range(9)] for _ in lengths]

    def drifted(width: float) -> list[list[float]]:
        return [[round(x + rng.gauss(0, width), 6) for x in row] for row in logps]

    return {
        "logps": logps,
        "oldLogps": drifted(0.4),
        "refLogps": drifted(0.5),
        "entropies": [[round(rng.uniform(0, 3), 6) for _ in range(9)] for _ in lengths],
        "mask": [[int(t < length) for t in range(9)] for length in lengths],
        "advantages": [1.2, -0.7, 0.0, -1.4, 0.9, 0.4],
    }


def ragged_sampling(seed: int) -> list[list[float]]:
    """The sampler's log-probs of `ragged(seed)`."""
    rng = random.Random(1000 + seed)
    return [[round(x + rng.gauss(0, 0.35), 6) for x in row] for row in ragged(seed)["oldLogps"]]


EMPTY = {**SMALL, "mask": [[0] * 4] * 2}
