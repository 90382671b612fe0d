"""How much of the replicas' communication is exposed, computed from a run's trace.json.

    exposed.py TRACE STEPS        STEPS: all steps of the run, the first one included

A rank's communication thread carries out its data-parallel operations one after the other; the k-th
of every rank's thread belong together. An operation is *active* from the moment its last rank has
come to it until it has ended on all of them: waiting for a slower replica is no communication. The
*exposed* part of it is the time in which a rank's own thread stands in a wait while the operation is
active, averaged over the ranks. The share is exposed / active, over all operations of one kind. A
replica that is ahead has nothing else to do than to wait, also for what is hidden behind the others'
work; that counts as exposed, too. So beside it stands the *standstill*: the time in which all ranks
wait while an operation is active, by which it makes a step longer.

The first step warms up: its sums are left out, and so are the parameters gathered after the last
step, which no forward follows.

For a site with one group of replicas (no tensor parallelism, no pipeline beside them).
"""

import argparse
import json
import sys
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

GATHER = "all_gather"
Interval = tuple[float, float]  # begin and end in seconds; a list's do not overlap


@dataclass(frozen=True)
class Span:
    name: str
    begin: float  # seconds
    end: float
    bytes: int


@dataclass(frozen=True)
class Operation:
    """One operation of all ranks."""

    name: str
    begin: float  # when the last rank came
    end: float  # of the last rank
    bytes: float  # read by a rank, on average


@dataclass
class Share:
    """The operations of one kind."""

    active: float = 0.0  # seconds
    exposed: float = 0.0
    standstill: float = 0.0
    bytes: float = 0.0  # read by a rank

    def exposed_share(self) -> float:
        return self.exposed / self.active

    def standstill_share(self) -> float:
        return self.standstill / self.active

    def bytes_per_second(self) -> float:
        return self.bytes / self.active


def data_parallel_spans(trace: dict) -> tuple[list[list[Span]], list[list[Span]]]:
    """What each rank's communication thread did, and what each rank waited for; both in order."""
    if trace["dropped"] > 0:
        sys.exit(f"the trace lacks {trace['dropped']} events: run fewer steps")
    events = trace["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    threads: dict[int, list[Span]] = {tid: [] for tid in names}
    for event in events:
        if event["ph"] == "X" and event["cat"] == "dp":
            begin = event["ts"] / 1e6
            end = begin + event["dur"] / 1e6
            span = Span(event["name"], begin, end, event["args"]["bytes"])
            threads[event["tid"]].append(span)
    for spans in threads.values():
        spans.sort(key=lambda span: span.begin)
    working = [tid for tid, name in names.items() if name.endswith("dp communication")]
    works = [threads[tid] for tid in working]
    of_the_link = [tid for tid, name in names.items() if name.startswith("link ")]
    waits = [threads[tid] for tid in names if tid not in [*working, *of_the_link]]
    return works, waits


def operations(works: list[list[Span]]) -> list[Operation]:
    if len({tuple(span.name for span in spans) for spans in works}) != 1:
        sys.exit("the trace is not of one group of replicas, or some of its operations are missing")
    return [
        Operation(
            name=spans[0].name,
            begin=max(span.begin for span in spans),
            end=max(span.end for span in spans),
            bytes=sum(span.bytes for span in spans) / len(spans),
        )
        for spans in zip(*works)
    ]


def without_warm_up(of_one_kind: list[Operation], steps: int) -> list[Operation]:
    per_step, rest = divmod(len(of_one_kind), steps)
    if rest != 0:
        sys.exit(f"{len(of_one_kind)} x {of_one_kind[0].name} in {steps} steps")
    if of_one_kind[0].name == GATHER:
        return of_one_kind[:-per_step]
    return of_one_kind[per_step:]


def overlaps(left: list[Interval], right: list[Interval]) -> list[Interval]:
    both = [(max(a[0], b[0]), min(a[1], b[1])) for a in left for b in right]
    return [(begin, end) for begin, end in both if begin < end]


def seconds(intervals: list[Interval]) -> float:
    return sum(end - begin for begin, end in intervals)


def exposed_shares(trace: dict, steps: int) -> dict[str, Share]:
    """By kind of operation."""
    works, waits = data_parallel_spans(trace)
    waiting = [[(span.begin, span.end) for span in spans] for spans in waits]
    every = operations(works)
    shares = {}
    for name in dict.fromkeys(operation.name for operation in every):
        share = shares[name] = Share()
        for operation in without_warm_up([o for o in every if o.name == name], steps):
            active = [(operation.begin, operation.end)]
            in_waits = [overlaps(active, of_rank) for of_rank in waiting]
            share.active += seconds(active)
            share.bytes += operation.bytes
            share.exposed += sum(seconds(each) for each in in_waits) / len(works)
            share.standstill += seconds(reduce(overlaps, in_waits))
    return shares


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", type=Path)
    parser.add_argument("steps", type=int)
    arguments = parser.parse_args()
    trace = json.loads(arguments.trace.read_text(encoding="utf-8"))
    for name, share in exposed_shares(trace, arguments.steps).items():
        print(
            f"{name}: of {share.active * 1e3:.1f} ms {share.exposed_share():.1%} exposed, "
            f"{share.standstill_share():.1%} standstill; {share.bytes_per_second() / 1e9:.2f} GB/s"
        )


if __name__ == "__main__":
    main()
