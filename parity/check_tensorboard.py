"""Reads the TensorBoard event files of a run with the real `tensorboard` package, and holds them to the run's own files.

    npx grpo train task.name=arithmetic train.steps=20 eval.every=5 sinks=[tensorboard] output=/tmp/run
    /tmp/parity/bin/python check_tensorboard.py /tmp/run

Scalars are compared as float32, histograms with numpy's counts, texts word for word. It also passes on a run that was
killed and resumed: no step is there twice. Exit code 1 where something differs.
"""

import json
import math
import re
import struct
import sys
from collections import defaultdict
from pathlib import Path

import numpy
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util import tensor_util

MOST = 4000


def rows(path):
    return [json.loads(line) for line in path.read_text().split("\n") if line] if path.exists() else []


def number(value):
    """A number; JSON has the name of one that it lacks."""
    return float(value) if isinstance(value, (int, float)) or value in ("NaN", "Infinity", "-Infinity") else None


def flat(row, prefix=""):
    found = {}
    for name, value in row.items():
        if isinstance(value, dict):
            found.update(flat(value, f"{prefix}{name}/"))
        elif not isinstance(value, (list, bool)) and number(value) is not None:
            found[prefix + name] = number(value)
    return found


def expected_scalars(run):
    expected = defaultdict(list)
    for file, prefix in (("metrics.jsonl", ""), ("timings.jsonl", ""), ("eval.jsonl", "eval/")):
        for row in rows(run / file):
            for name, value in flat({k: v for k, v in row.items() if k not in ("step", "ended_at")}).items():
                expected[prefix + name].append((row["step"], value))
    return expected


def same(a, b):
    single = struct.unpack("f", struct.pack("f", b))[0]
    return a == single or (math.isnan(a) and math.isnan(single))


def compare_scalars(events, run):
    expected = expected_scalars(run)
    assert sorted(events.Tags()["scalars"]) == sorted(expected), set(events.Tags()["scalars"]) ^ set(expected)
    count = 0
    for tag, wanted in expected.items():
        found = [(event.step, event.value) for event in events.Scalars(tag)]
        assert [step for step, _ in found] == [step for step, _ in wanted], f"{tag}: steps {found}, expected {wanted}"
        for (step, value), (_, right) in zip(found, wanted):
            assert same(value, right), f"{tag}, step {step}: {value}, expected {right}"
        count += len(found)
    return count


def completions_by_step(run):
    by_step = defaultdict(list)
    for row in rows(run / "completions.jsonl"):
        by_step[row["step"]].append(row)
    return by_step


def columns(group):
    names = list(group[0]["rewards"])
    yield "completions/reward", [number(row["reward"]) for row in group]
    yield "completions/length", [float(row["length"]) for row in group]
    yield "completions/advantage", [row.get("advantage") for row in group]
    for name in names if len(names) > 1 else []:
        yield f"completions/rewards/{name}", [number(row["rewards"][name]) for row in group]


def compare_histograms(events, run):
    expected = defaultdict(dict)
    for step, group in completions_by_step(run).items():
        for tag, values in columns(group):
            finite = [value for value in values if value is not None and math.isfinite(value)]
            if finite:
                expected[tag][step] = finite
    assert sorted(events.Tags()["histograms"]) == sorted(expected), events.Tags()["histograms"]
    count = 0
    for tag, steps in expected.items():
        found = events.Histograms(tag)
        assert [event.step for event in found] == list(steps), tag
        for event in found:
            values, histogram = numpy.array(steps[event.step]), event.histogram_value
            assert (histogram.min, histogram.max, histogram.num) == (values.min(), values.max(), len(values)), tag
            assert math.isclose(histogram.sum, values.sum(), rel_tol=1e-12, abs_tol=1e-12), tag
            assert math.isclose(histogram.sum_squares, (values**2).sum(), rel_tol=1e-12), tag
            edges = [histogram.min, *histogram.bucket_limit]
            if histogram.min == histogram.max:
                counts = [len(values)]
            else:
                # A value on an edge may fall on either side by rounding: cumulated counts just off the edges agree.
                counts = histogram.bucket
                assert numpy.allclose(edges, numpy.linspace(values.min(), values.max(), len(edges)))
                near = numpy.abs(values[:, None] - numpy.array(edges)[None, 1:-1]).min() < 1e-9
                if not near:
                    assert list(numpy.histogram(values, bins=edges)[0]) == list(counts), f"{tag}, step {event.step}"
            assert sum(counts) == len(values), tag
            count += 1
    return count


def block(text):
    shown = text if len(text) <= MOST else f"{text[:MOST]}\n… ({len(text) - MOST} more characters)"
    return re.sub("(^|[\n\r\u2028\u2029])", r"\1    ", shown)


def compare_texts(events, run):
    found = defaultdict(dict)
    for tag in events.Tags()["tensors"]:
        plugin = events.SummaryMetadata(tag).plugin_data.plugin_name
        assert plugin == "text", f"{tag} is of the plugin {plugin}"
        for event in events.Tensors(tag):
            assert event.step not in found[tag], f"{tag} has step {event.step} twice"
            found[tag][event.step] = tensor_util.make_ndarray(event.tensor_proto)[0].decode()
    count = 0
    for step, group in completions_by_step(run).items():
        scored = [row for row in group if math.isfinite(number(row["reward"]))]
        for tag, choose in (("best", max), ("worst", min)):
            text = found[f"completions/{tag}/text_summary"].pop(step, None)
            assert (text is None) == (not scored), f"{tag}, step {step}"
            if text is None:
                continue
            right = choose(number(row["reward"]) for row in scored)
            shown = [row for row in scored if number(row["reward"]) == right]
            ends = [f"\n\nPrompt\n\n{block(r['prompt_text'])}\n\nCompletion\n\n{block(r['completion'])}" for r in shown]
            assert any(text.endswith(end) for end in ends), f"{tag}, step {step}: {text}"
            count += 1
    steps = {row["step"] for row in rows(run / "findings.jsonl")}
    findings = found.pop("findings/text_summary", {})
    assert set(findings) == steps, "findings"
    assert not any(found.values()), f"texts of no completion: {found}"
    return count + len(findings)


def main():
    run = Path(sys.argv[1])
    everything = {"scalars": 0, "histograms": 0, "tensors": 0, "compressedHistograms": 1, "images": 1, "audio": 1}
    events = EventAccumulator(str(run / "tensorboard"), size_guidance=everything)
    events.Reload()
    print(f"{compare_scalars(events, run)} scalars, {compare_histograms(events, run)} histograms and "
          f"{compare_texts(events, run)} texts are those of {run}")


main()
