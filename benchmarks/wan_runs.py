"""Both sites of a job at the two ends of an emulated network, each on a core of its own."""

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "tests" / "wan"), str(ROOT / "tests" / "e2e")]

from product import Job  # noqa: E402
from wan import Wan  # noqa: E402

PATIENCE = 300  # seconds for one run
SITES = ("cloud", "edge")
CORES = dict(zip(("edge", "cloud"), sorted(os.sched_getaffinity(0))[:2]))


@dataclass
class Place:
    """The binaries of a build, and a folder for keys, models, jobs and runs."""

    build: Path
    work: Path
    jobs: int = 0

    def binary(self, name: str) -> Path:
        return self.build / "bin" / name

    def job(self, wan: Wan, changes: dict[str, object]) -> Job:
        """A job whose run goes over `wan`; a directory and a port that no other job has."""
        self.jobs += 1
        keys = {
            "data.on_long_sample": "truncate",
            "optimizer.learning_rate": 0.0003,
            "optimizer.decay": "constant",
            "edge.keys": str(self.work / "keys" / "edge"),
            "cloud.keys": str(self.work / "keys" / "cloud"),
            "link.address": f"{wan.cloud}:{7400 + self.jobs}",
            "output.directory": str(self.work / "runs" / str(self.jobs)),
        }
        return Job(self.work / f"{self.jobs}.toml", keys | changes)


def pinned(site: str, command: list[object]) -> list[object]:
    return ["taskset", "-c", CORES[site], *command]


class Pair:
    """A program at either site; the outputs go to files beside `log`."""

    def __init__(self, wan: Wan, log: Path, commands: dict[str, list[object]]):
        self.logs = {site: log.with_suffix(f".{site}.log") for site in SITES}
        self.programs: dict[str, subprocess.Popen] = {}
        for site in SITES:
            with open(self.logs[site], "w", encoding="utf-8") as output:
                self.programs[site] = wan.popen(
                    site, pinned(site, commands[site]), stdout=output, stderr=subprocess.STDOUT
                )

    def ended(self) -> bool:
        return any(program.poll() is not None for program in self.programs.values())

    def finish(self) -> None:
        for site in reversed(SITES):
            code = self.programs[site].wait(PATIENCE)
            if code != 0:
                print(self.log(site), file=sys.stderr)
                sys.exit(f"exit code {code} at the {site}")

    def log(self, site: str) -> str:
        return self.logs[site].read_text(encoding="utf-8")


def start(place: Place, wan: Wan, job: Job) -> Pair:
    hairpin = place.binary("hairpin")
    return Pair(wan, job.file, {site: [hairpin, site, job.file] for site in SITES})


def run(place: Place, wan: Wan, changes: dict[str, object], delay_ms: float) -> Job:
    """A whole run; `delay_ms` each way until its last step, after which the edge fetches weights."""
    wan.set(delay_ms=delay_ms)
    job = place.job(wan, changes)
    pair = start(place, wan, job)
    wait_for_step(pair, job, changes["train.steps"])
    wan.set(delay_ms=0)
    pair.finish()
    shutil.rmtree(job.output / "edge" / "export")  # half a gigabyte of SmolLM2
    return job


def seconds(job: Job) -> list[float]:
    return [step["step_seconds"] for step in job.metrics("edge")]


def losses(job: Job) -> list[float]:
    return [step["loss"] for step in job.metrics("edge")]


def agreements(job: Job, site: str) -> list[dict]:
    """The lines of a site's schedule.jsonl: the start, and one for each new choice."""
    text = (job.output / site / "schedule.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def wait_for_step(pair: Pair, job: Job, step: int) -> None:
    while len(job.metrics("edge")) < step and not pair.ended():
        time.sleep(0.02)


def cpu_seconds(process: subprocess.Popen) -> float:
    """What a process under way has used of the machine."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
