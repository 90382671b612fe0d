"""Throughput kept at a distance: real training by Hairpin's schedules, and by PyTorch's own
pipelining, at several round trips of one emulated network."""

import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from wan_runs import ROOT, Pair, Place, Wan, agreements, cpu_seconds, losses, run, seconds

ADAPTIVE = "hairpin-adaptive"
PEER = "torch "  # and the schedule's name
RATE_MBIT = 1000
PEER_LOSS_OFF = 2e-3  # what bf16 on the link may change the first loss by
WARM_UP = {ADAPTIVE: 2}  # steps that don't count: before it has chosen; elsewhere one


@dataclass(frozen=True)
class Table:
    """What is trained, at which round trips, by whom, in which rounds."""

    job: dict[str, object]
    layers: tuple[int, int, int]
    microbatches: int
    tokens: int
    rtts: list[float]
    limits: dict[float, float]  # least kept of hairpin-adaptive
    contenders: list[str]
    rounds: int
    other_rounds: int  # of contenders but hairpin-adaptive
    steps: int  # of hairpin-adaptive that count; others take one, all theirs being alike

    def steps_of(self, contender: str) -> int:
        return self.steps if contender == ADAPTIVE else 1


@dataclass
class Outcome:
    contender: str
    rtt: float  # ms
    seconds: float  # median of the steps that count
    losses: list[float]
    times: dict | None = None  # that both sites agreed on, microseconds
    simulated: float | None = None  # seconds, at the times last agreed on at this round trip
    emulator: float = 0  # share of one core that the emulator took


def warm_up(contender: str) -> int:
    return WARM_UP.get(contender, 1)


def simulated(place: Place, kind: str, microbatches: int, times: dict) -> float:
    """Seconds of a step at the times that both sites have agreed on."""
    head, cloud, tail = zip(times["forward"], times["backward"])
    up, down = (statistics.mean(times[way].values()) for way in ("up", "down"))
    given = {
        "kind": kind, "shape": "hairpin", "pp": 2, "microbatches": microbatches,
        "latency": times["latency"],
        "fs": head[0], "be": head[1], "f": cloud[0], "b": cloud[1], "fe": tail[0], "bs": tail[1],
        "transfer-up": up, "transfer-down": down,
    }  # fmt: skip
    options = [word for name, value in given.items() for word in (f"--{name}", str(value))]
    command = [place.binary("hairpin"), "schedule", "simulate", *options, "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["step"] * 1e-6


def run_hairpin(place: Place, wan: Wan, table: Table, kind: str, rtt: float) -> Outcome:
    changes = {
        **table.job,
        "split.layers": list(table.layers),
        "data.sequence_length": table.tokens,
        "train.steps": warm_up(kind) + table.steps_of(kind),
        "train.microbatches": table.microbatches,
        "schedule.kind": kind,
        "link.codec": "bf16",
    }
    job = run(place, wan, changes, rtt / 2)
    agreed = [line["times"] for line in agreements(job, "edge") if "times" in line]
    taken = statistics.median(seconds(job)[warm_up(kind) :])
    return Outcome(kind, rtt, taken, losses(job), agreed[-1] if agreed else None)


def run_peer(place: Place, wan: Wan, table: Table, contender: str, rtt: float) -> Outcome:
    wan.set(delay_ms=rtt / 2)
    place.jobs += 1
    given = {
        "address": f"{wan.edge}:{7400 + place.jobs}", "schedule": contender.removeprefix(PEER),
        "steps": 1 + table.steps_of(contender), "microbatches": table.microbatches, "length": table.tokens,
    }  # fmt: skip
    options = [word for name, value in given.items() for word in (f"--{name}", value)]
    command = [sys.executable, ROOT / "benchmarks" / "peer_pipelining.py"]
    command += [table.job["model.path"], table.job["data.train"], "--layers", *table.layers, *options]
    pair = Pair(
        wan,
        place.work / f"{place.jobs}",
        {site: [*command, "--rank", rank] for rank, site in enumerate(("edge", "cloud"))},
    )
    pair.finish()
    said = json.loads(pair.log("edge").splitlines()[-1])
    return Outcome(contender, rtt, statistics.median(said["step_seconds"][1:]), said["losses"])


def measure(place: Place, wan: Wan, table: Table, contender: str, rtt: float) -> Outcome:
    before, began = cpu_seconds(wan.process), os.times().elapsed
    way = run_peer if contender.startswith(PEER) else run_hairpin
    outcome = way(place, wan, table, contender, rtt)
    outcome.emulator = (cpu_seconds(wan.process) - before) / (os.times().elapsed - began)
    return outcome


def measure_all(place: Place, table: Table) -> list[Outcome]:
    """Round by round, so that a slow minute of the machine hits all alike. Kinds that don't measure
    are simulated at the times of hairpin-adaptive's run before them."""
    outcomes = []
    agreed: dict[float, dict] = {}
    with Wan(rate_mbit=RATE_MBIT) as wan:
        for turn in range(table.rounds):
            for rtt in table.rtts:
                for contender in table.contenders:
                    if contender != ADAPTIVE and turn >= table.other_rounds:
                        continue
                    outcome = measure(place, wan, table, contender, rtt)
                    outcomes.append(outcome)
                    agreed[rtt] = outcome.times or agreed.get(rtt, {})
                    if agreed[rtt] and not contender.startswith(PEER):
                        outcome.simulated = simulated(
                            place, contender, table.microbatches, agreed[rtt]
                        )
                    speed = table.tokens * table.microbatches / outcome.seconds
                    print(
                        f"round {turn + 1}: {contender:17} at {rtt:3g} ms {speed:7.0f} tokens/s,"
                        f" load {os.getloadavg()[0]:.1f}",
                        flush=True,
                    )
    return outcomes
