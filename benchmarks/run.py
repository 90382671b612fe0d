"""Hairpin beside a plain transformers loop: `make bench` runs this from the repository's root.

    run.py [--repeats 2] [--steps 3]

Three ways to fine-tune all of SmolLM2-135M on two cores, fp32, one sequence of 512 tokens a
microbatch, four microbatches a step, AdamW, on the samples of workload.py: equal work.

    peer     peer_transformers.py, one process, two threads
    unsplit  hairpin train, one process, two threads
    split    hairpin cloud and hairpin edge, two processes of one thread, TLS, fp32 codec

They take turns, so that a slow minute of the machine hits all alike. A repeat's speed is the median
over its steps after the first; the table shows the median over repeats. Memory is the highest
resident size as the kernel counts it, the split's of both processes together.
"""

import argparse
import json
import shutil
import socket
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from workload import HAIRPIN, LONG, MODEL, WORK, Process, prepare, speed, write_job

UNSPLIT = "[site]\nthreads = 2\n"
SPLIT = f"""
[split]
layers = [6, 19, 5]
[edge]
keys = "{WORK}/keys/edge"
[cloud]
keys = "{WORK}/keys/cloud"
[link]
address = "ADDRESS"
"""


@dataclass
class Measure:
    tokens_per_second: float
    peak_memory_bytes: int


def measure_peer(steps: int) -> Measure:
    script = Path("benchmarks/peer_transformers.py")
    log = WORK / "peer.log"
    command = [sys.executable, script, MODEL, LONG, "--steps", steps]
    memory = Process(log, command).finish()
    result = json.loads(log.read_text().splitlines()[-1])
    return Measure(result["tokens_per_second"], memory)


def measure_unsplit(steps: int) -> Measure:
    job, directory = write_job("unsplit", UNSPLIT, steps=steps)
    memory = Process(WORK / "unsplit.log", [HAIRPIN, "train", job]).finish()
    return Measure(speed(directory), memory)


def measure_split(steps: int) -> Measure:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    job, directory = write_job("split", SPLIT.replace("ADDRESS", address), steps=steps)
    cloud = Process(WORK / "cloud.log", [HAIRPIN, "cloud", job])
    edge = Process(WORK / "edge.log", [HAIRPIN, "edge", job])
    memory = edge.finish() + cloud.finish()
    return Measure(speed(directory / "edge"), memory)


CONTENDERS = {"peer": measure_peer, "unsplit": measure_unsplit, "split": measure_split}


def make_keys() -> None:
    shutil.rmtree(WORK / "keys", ignore_errors=True)
    subprocess.run([HAIRPIN, "keys", WORK / "keys"], check=True)


def print_table(measures: dict[str, list[Measure]]) -> None:
    medians = {
        name: Measure(
            statistics.median(m.tokens_per_second for m in runs),
            statistics.median(m.peak_memory_bytes for m in runs),
        )
        for name, runs in measures.items()
    }
    peer = medians["peer"]
    print(f"\n{'':10} {'tokens/s':>9} {'x peer':>7} {'peak GB':>9} {'x peer':>7}")
    for name, m in medians.items():
        faster = m.tokens_per_second / peer.tokens_per_second
        larger = m.peak_memory_bytes / peer.peak_memory_bytes
        gigabytes = m.peak_memory_bytes / 1e9
        print(
            f"{name:10} {m.tokens_per_second:9.1f} {faster:7.2f} {gigabytes:9.2f} {larger:7.2f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--steps", type=int, default=3, help="measured, after one to warm up")
    arguments = parser.parse_args()

    prepare()
    make_keys()
    measures: dict[str, list[Measure]] = {name: [] for name in CONTENDERS}
    for repeat in range(1, arguments.repeats + 1):
        for name, measure in CONTENDERS.items():
            result = measure(arguments.steps)
            measures[name].append(result)
            print(
                f"repeat {repeat}: {name:8} {result.tokens_per_second:7.1f} tokens/s, "
                f"{result.peak_memory_bytes / 1e9:.2f} GB",
                flush=True,
            )
    print_table(measures)


if __name__ == "__main__":
    main()
