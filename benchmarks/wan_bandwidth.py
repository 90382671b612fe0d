"""A link so slow that it is the bottleneck: what int8 and int4 bring over bf16."""

import statistics
from dataclasses import dataclass

from wan_runs import Place, Wan, agreements, losses, run, seconds

CODECS = ["bf16", "int8", "int4", "fp32"]
LEAST_RATIO = 6  # of bf16's transfer of a microbatch over its compute
LIMITS = {"int8": 1.8, "int4": 3.0}  # x bf16's step rate
RTT_MS = 10


@dataclass
class Row:
    codec: str
    step_seconds: float
    rate: float  # x bf16's steps a second
    bytes_per_microbatch: float  # the busier direction, framed
    transfer_over_compute: float  # of a microbatch, the busier direction and the busier site
    losses: list[float]
    limit: float | None

    def holds(self) -> bool:
        least = LEAST_RATIO if self.codec == "bf16" else 0
        return self.rate >= (self.limit or 0) and self.transfer_over_compute >= least


@dataclass
class Outcome:
    step_seconds: float
    bytes_per_microbatch: float
    compute_seconds: float  # of a microbatch, the busier site
    losses: list[float]


def measure(place: Place, wan: Wan, changes: dict[str, object], codec: str) -> Outcome:
    job = run(place, wan, changes | {"link.codec": codec}, RTT_MS / 2)
    microbatches = changes["train.microbatches"]
    step = job.metrics("edge")[-1]
    times = [line["times"] for line in agreements(job, "edge") if "times" in line][-1]
    (fs, f, fe), (be, b, bs) = times["forward"], times["backward"]
    return Outcome(
        statistics.median(seconds(job)[2:]),
        max(step["link_bytes_up"], step["link_bytes_down"]) / microbatches,
        max(fs + fe + bs + be, f + b) * 1e-6,
        losses(job),
    )


def rows_of(outcomes: dict[str, list[Outcome]], rate_mbit: float) -> list[Row]:
    def median(codec: str, of) -> float:
        return statistics.median(of(outcome) for outcome in outcomes[codec])

    def step(codec: str) -> float:
        return median(codec, lambda o: o.step_seconds)

    rows = []
    for codec in outcomes:
        size = median(codec, lambda o: o.bytes_per_microbatch)
        compute = median(codec, lambda o: o.compute_seconds)
        rows.append(
            Row(
                codec=codec,
                step_seconds=step(codec),
                rate=step("bf16") / step(codec),
                bytes_per_microbatch=size,
                transfer_over_compute=size * 8e-6 / rate_mbit / compute,
                losses=outcomes[codec][0].losses,
                limit=LIMITS.get(codec),
            )
        )
    return rows


def print_rows(rows: list[Row]) -> None:
    print(
        f"\n{'':5} {'step':>8} {'x bf16':>7} {'limit':>6} {'kB/microbatch':>14}"
        f" {'transfer/compute':>17} {'limit':>6} {'last loss':>10}"
    )
    for row in rows:
        limit = "" if row.limit is None else f"{row.limit:g}"
        least = f"{LEAST_RATIO:g}" if row.codec == "bf16" else ""
        verdict = "" if row.holds() else "  MISSED"
        print(
            f"{row.codec:5} {row.step_seconds:6.2f} s {row.rate:7.2f} {limit:>6}"
            f" {row.bytes_per_microbatch / 1e3:14.1f} {row.transfer_over_compute:17.1f} {least:>6}"
            f" {row.losses[-1]:10.4f}{verdict}"
        )


def measure_all(
    place: Place, changes: dict[str, object], rate_mbit: float, rounds: int
) -> dict[str, list[Outcome]]:
    outcomes: dict[str, list[Outcome]] = {codec: [] for codec in CODECS}
    with Wan(rate_mbit=rate_mbit) as wan:
        for turn in range(rounds):
            for codec in CODECS:
                if codec == "fp32" and turn > 0:
                    continue  # the slowest, and no limit
                outcomes[codec].append(measure(place, wan, changes, codec))
                took = outcomes[codec][-1].step_seconds
                print(f"round {turn + 1}: {codec} {took:.2f} s a step", flush=True)
    return outcomes
