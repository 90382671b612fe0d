"""What the benchmarks have in common: the model, the samples, job files, and how a run is started
and read. Paths are relative to the repository's root, which `prepare` makes the working directory.

The samples are one short question and an answer of well over 512 tokens: cut at the sequence length,
each fills a microbatch and nearly all its tokens are trained on. So every contender gets equal work.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = Path("build/bench")
MODEL = Path("build/demo/model")
DATA = Path("build/demo/data")
LONG = WORK / "long.jsonl"
HAIRPIN = "build/bin/hairpin"

JOB = """
[model]
path = "{model}"
[data]
train = "{train}"
sequence_length = {tokens}
on_long_sample = "truncate"
[train]
steps = {steps}
microbatches = {microbatches}
[optimizer]
learning_rate = 3e-4
clip_norm = 1.0
[output]
directory = "{directory}"
trace = {trace}
"""


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


def write_job(
    name: str,
    sites: str,
    *,
    steps: int,
    model: Path = MODEL,
    tokens: int = 512,
    microbatches: int = 4,
    trace: bool = False,
) -> tuple[Path, Path]:
    """The job file and the directory its run will write. `sites` are the tables that say where the
    model runs; `steps` are measured, after one to warm up; `microbatches` are a domain's."""
    directory = WORK / name
    shutil.rmtree(directory, ignore_errors=True)
    text = JOB.format(
        model=model,
        train=LONG,
        tokens=tokens,
        steps=steps + 1,
        microbatches=microbatches,
        directory=directory,
        trace="true" if trace else "false",
    )
    job = WORK / f"{name}.toml"
    job.write_text(text + sites, encoding="utf-8")
    return job, directory


def records(directory: Path) -> list[dict]:
    """The steps of a site's run."""
    lines = (directory / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def speed(directory: Path) -> float:
    """Tokens a second: the median over a site's steps, without the first."""
    return statistics.median(
        record["tokens"] / record["step_seconds"] for record in records(directory)[1:]
    )


def write_long_samples(source: Path, target: Path = LONG) -> None:
    """Long answers, made of the example's answers."""
    answers = [
        json.loads(line)["messages"][-1]["content"]
        for line in source.read_text(encoding="utf-8").splitlines()
    ]
    with open(target, "w", encoding="utf-8") as file:
        for begin in range(0, 64 * 64, 64):
            question = {"role": "user", "content": "List codes."}
            answer = {"role": "assistant", "content": "\n".join(answers[begin : begin + 64])}
            file.write(json.dumps({"messages": [question, answer]}) + "\n")


def prepare() -> None:
    """Model and samples, where they are not there yet."""
    os.chdir(ROOT)
    WORK.mkdir(parents=True, exist_ok=True)
    example = Path("examples/icd10")
    subprocess.run([sys.executable, example / "make_model.py", MODEL], check=True)
    subprocess.run([sys.executable, example / "make_data.py", DATA], check=True)
    write_long_samples(DATA / "train.jsonl")
