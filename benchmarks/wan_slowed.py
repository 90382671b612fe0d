"""What changes in mid-run, a slower cloud or a longer way, is noticed, agreed on anew and logged,
and the losses stay as they were."""

import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

from wan_runs import (
    SITES,
    Pair,
    Place,
    Wan,
    agreements,
    losses,
    pinned,
    run,
    seconds,
    start,
    wait_for_step,
)

RTT_MS, LONGER_RTT_MS = 5, 60
NOTICED = 1.5  # times what the choice before was made for
BUSY = [sys.executable, "-c", "while True: pass"]


@dataclass(frozen=True)
class Change:
    what: str
    make: Callable[[Wan], None]
    time: Callable[[dict], int]  # that it makes longer, of those agreed on


@dataclass
class Outcome:
    what: str
    changed_after: int  # step
    agreed_from: int | None  # the first step whose order was chosen for the changed time
    before: float  # seconds of a step, median
    between: float  # until the new choice
    after: float
    same_at_both_sites: bool
    same_losses: bool
    lines: dict[str, list[str]] = field(default_factory=dict)  # of the log

    def holds(self) -> bool:
        return self.agreed_from is not None and self.same_at_both_sites and self.same_losses


def undisturbed(place: Place, changes: dict[str, object]) -> list[float]:
    with Wan() as wan:
        return losses(run(place, wan, changes, RTT_MS / 2))


def median(steps: list[float]) -> float:
    return statistics.median(steps) if steps else float("nan")


def measure(
    place: Place,
    changes: dict[str, object],
    change: Change,
    after_step: int,
    expected: list[float],
) -> Outcome:
    with Wan(delay_ms=RTT_MS / 2) as wan:
        job = place.job(wan, changes)
        pair = start(place, wan, job)
        wait_for_step(pair, job, after_step)
        change.make(wan)
        changed = len(job.metrics("edge"))
        pair.finish()
    edge, cloud = (agreements(job, site) for site in ("edge", "cloud"))
    chosen = [(line["from_step"], change.time(line["times"])) for line in edge if "times" in line]
    usual = [time for first, time in chosen if first <= changed + 1][-1]
    new = [first for first, time in chosen if first > changed + 1 and time > NOTICED * usual]
    steps = seconds(job)
    end = new[0] - 1 if new else len(steps)
    return Outcome(
        what=change.what,
        changed_after=changed,
        agreed_from=new[0] if new else None,
        before=median(steps[2:changed]),
        between=median(steps[changed + 1 : end]),
        after=median(steps[end:]),
        same_at_both_sites=edge == cloud,
        same_losses=losses(job) == expected,
        lines={site: log_lines(pair, site) for site in SITES},
    )


def log_lines(pair: Pair, site: str) -> list[str]:
    return [line for line in pair.log(site).splitlines() if " on: " in line]


def slow_cloud(wan: Wan) -> None:
    """A loop that never waits, on the cloud's core: from now on the cloud has half of it."""
    wan.popen("cloud", pinned("cloud", BUSY), stdin=subprocess.DEVNULL)


def longer_way(wan: Wan) -> None:
    wan.set(delay_ms=LONGER_RTT_MS / 2)


CHANGES = [
    Change("the cloud slowed by half", slow_cloud, lambda at: at["forward"][1] + at["backward"][1]),
    Change(
        f"a round trip of {LONGER_RTT_MS} ms instead of {RTT_MS}",
        longer_way,
        lambda at: at["latency"],
    ),
]


def measure_all(place: Place, changes: dict[str, object], after_step: int) -> list[Outcome]:
    expected = undisturbed(place, changes)
    return [measure(place, changes, change, after_step, expected) for change in CHANGES]


def print_outcome(outcome: Outcome) -> None:
    yes = {True: "yes", False: "NO"}
    print(f"\n{outcome.what}, after step {outcome.changed_after}")
    for site, lines in outcome.lines.items():
        print(*(f"  {site}: {line}" for line in lines), sep="\n")
    print(f"  new choice from step {outcome.agreed_from or 'NONE'}")
    print(f"  the same choices at both sites: {yes[outcome.same_at_both_sites]}")
    print(
        f"  seconds a step: {outcome.before:.3f} before, {outcome.between:.3f} until the new choice,"
        f" {outcome.after:.3f} with it"
    )
    print(f"  losses bit-equal to an undisturbed run's: {yes[outcome.same_losses]}", flush=True)
