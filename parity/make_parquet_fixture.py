"""Makes fixtures/parquet with Arrow's writer: what datasets on hubs look like.

    python parity/make_parquet_fixture.py

sums.parquet has the columns of GSM8K in two row groups; kinds.parquet one column of each kind with what JSON would
have; the others hold what must be refused.
"""

import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

OUT = Path(__file__).parent / "fixtures" / "parquet"


def sums(count):
    rows = []
    for i in range(count):
        a, b = 3 + 7 * i % 41, 5 + 11 * i % 37
        rows.append(
            {
                "question": f"A shelf holds {a} books and {b} more are put on it. How many books is that?",
                "answer": f"{a} books and {b} books are {a}+{b} = <<{a}+{b}={a + b}>>{a + b} books.\n#### {a + b}",
            }
        )
    return pa.Table.from_pylist(rows)


def kinds():
    return pa.table(
        {
            "text": pa.array(["é", None, ""], pa.string()),
            "long": pa.array([1, -(2**53) + 1, None], pa.int64()),
            "short": pa.array([1, 2, 3], pa.int32()),
            "real": pa.array([0.5, -1.0, None], pa.float64()),
            "yes": pa.array([True, False, None], pa.bool_()),
            "nums": pa.array([[3, 5], [], None], pa.list_(pa.int64())),
            "inside": pa.array([{"a": 1, "b": ["x"]}, {"a": None, "b": []}, None]),
            "raw": pa.array([b"plain", None, b""], pa.binary()),
            "day": pa.array([datetime.datetime(2020, 1, 2, 3, 4, 5), None, None], pa.timestamp("ms")),
        }
    )


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    pq.write_table(sums(40), OUT / "sums.parquet", row_group_size=25, compression="zstd")
    pq.write_table(kinds(), OUT / "kinds.parquet", compression="snappy")
    pq.write_table(pa.table({"id": ["a", "b"], "image": [b"ok", b"\xff\xd8"]}), OUT / "bytes.parquet")
    pq.write_table(pa.table({"id": pa.array([1, 2**53], pa.int64())}), OUT / "large.parquet")
    pq.write_table(pa.table({"question": pa.array([], pa.string())}), OUT / "empty.parquet")


main()
