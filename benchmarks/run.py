"""Hairpin beside a plain transformers loop: `make bench` runs this from the repository's root.

    run.py [--repeats 2] [--steps 3]

Three ways to fine-tune all of SmolLM2-135M on two cores, fp32, one sequence of 512 tokens a
microbatch, four microbatches a step, AdamW. The samples are one short question and a long answer, so
that all three train on nearly every token and see one long sequence: equal work.

    peer     peer_transformers.py, one process, two threads
    unsplit  hairpin train, one process, two threads
    split    hairpin cloud and hairpin edge, two processes of one thread, TLS, fp32 codec

They take turns, so that a slow minute of the machine hits all alike. A repeat's speed is the median
over its steps after the first; the table shows the median over repeats. Memory is the highest
resident size as the kernel counts it, the split's of both processes together.
"""

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = Path("build/bench")
MODEL = Path("build/demo/model")
DATA = Path("build/demo/data")
LONG = WORK / "long.jsonl"
HAIRPIN = "build/bin/hairpin"

COMMON = f"""
[model]
path = "{MODEL}"
[data]
train = "{LONG}"
sequence_length = 512
on_long_sample = "truncate"
[train]
steps = STEPS
microbatches = 4
[optimizer]
learning_rate = 3e-4
clip_norm = 1.0
[output]
directory = "DIRECTORY"
"""
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


class Process:
    """A command under way; its output goes to a file that is shown if it fails."""

    def __init__(self, log: Path, command: list[object]) -> None:
        self.command = [str(word) for word in command]
        self.log = log
        with open(log, "w", encoding="utf-8") as output:
            self.child = subprocess.Popen(self.command, stdout=output, stderr=subprocess.STDOUT)

    def finish(self) -> int:
        """Waits; the highest resident size in bytes."""
        _, status, usage = os.wait4(self.child.pid, 0)
        self.child.returncode = os.waitstatus_to_exitcode(status)
        if self.child.returncode != 0:
            print(self.log.read_text(encoding="utf-8"), end="", file=sys.stderr)
            sys.exit(f"bench: exit code {self.child.returncode} from: {' '.join(self.command)}")
        return usage.ru_maxrss * 1024


def write_job(name: str, steps: int, extra: str) -> tuple[Path, Path]:
    """The job file and the directory its run will write."""
    directory = WORK / name
    shutil.rmtree(directory, ignore_errors=True)
    job = WORK / f"{name}.toml"
    text = COMMON.replace("STEPS", str(steps + 1)).replace("DIRECTORY", str(directory))
    job.write_text(text + extra)
    return job, directory


def speed(metrics: Path) -> float:
    records = [json.loads(line) for line in metrics.read_text().splitlines()]
    return statistics.median(record["tokens"] / record["step_seconds"] for record in records[1:])


def measure_peer(steps: int) -> Measure:
    script = Path("benchmarks/peer_transformers.py")
    log = WORK / "peer.log"
    command = [sys.executable, script, MODEL, LONG, "--steps", steps]
    memory = Process(log, command).finish()
    result = json.loads(log.read_text().splitlines()[-1])
    return Measure(result["tokens_per_second"], memory)


def measure_unsplit(steps: int) -> Measure:
    job, directory = write_job("unsplit", steps, UNSPLIT)
    memory = Process(WORK / "unsplit.log", [HAIRPIN, "train", job]).finish()
    return Measure(speed(directory / "metrics.jsonl"), memory)


def measure_split(steps: int) -> Measure:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    job, directory = write_job("split", steps, SPLIT.replace("ADDRESS", address))
    cloud = Process(WORK / "cloud.log", [HAIRPIN, "cloud", job])
    edge = Process(WORK / "edge.log", [HAIRPIN, "edge", job])
    memory = edge.finish() + cloud.finish()
    return Measure(speed(directory / "edge" / "metrics.jsonl"), memory)


CONTENDERS = {"peer": measure_peer, "unsplit": measure_unsplit, "split": measure_split}


def write_long_samples(source: Path) -> None:
    """Answers of well over 512 tokens, made of the example's answers."""
    answers = [
        json.loads(line)["messages"][-1]["content"]
        for line in source.read_text(encoding="utf-8").splitlines()
    ]
    with open(LONG, "w", encoding="utf-8") as file:
        for begin in range(0, 64 * 64, 64):
            question = {"role": "user", "content": "List codes."}
            answer = {"role": "assistant", "content": "\n".join(answers[begin : begin + 64])}
            file.write(json.dumps({"messages": [question, answer]}) + "\n")


def prepare() -> None:
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    example = Path("examples/icd10")
    subprocess.run([sys.executable, example / "make_model.py", MODEL], check=True)
    subprocess.run([sys.executable, example / "make_data.py", DATA], check=True)
    subprocess.run([HAIRPIN, "keys", WORK / "keys"], check=True)
    write_long_samples(DATA / "train.jsonl")


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

    os.chdir(ROOT)
    prepare()
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
