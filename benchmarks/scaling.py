"""What each axis of parallelism costs: `make bench` runs this from the repository's root.

    scaling.py [--repeats 2] [--steps 1] [--tokens 192] [--only ROW ...] [--json FILE]

Every row fine-tunes SmolLM2-135M (with an even number of heads, see even_heads.py) on the same global
batch of four microbatches a step, one sequence of --tokens tokens each, fp32, AdamW. The reference is
one rank with two threads; the other rows use the same two cores with two ranks of one thread, so that
a ratio of 1 means that an axis costs nothing. `one-thread` is half of the cores, `split-tp2` has three
ranks. docs/benchmarks.md tells the rows, exposed.py what is exposed.

Rows take turns, so that a slow minute of the machine hits all alike. A repeat's speed is the median
over its steps after the first; the tables show medians over repeats. Memory is what the ranks'
tensors need at their peak: of the largest rank, and the sum over all ranks.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
from dataclasses import dataclass
from pathlib import Path

from even_heads import make_even_heads
from exposed import exposed_shares
from workload import HAIRPIN, MODEL, WORK, Process, prepare, records, speed, write_job

EVEN = WORK / "model"


@dataclass(frozen=True)
class Row:
    sites: str  # tables of the job
    microbatches: int = 4  # a domain
    replicas: bool = False  # data parallel: has communication to hide


# Embedding, output head and loss cost about as much as eight of the 30 layers.
PIPELINE = "[site]\npipeline = [19, 11]\n"
SPLIT = '[split]\nlayers = [6, 19, 5]\n[schedule]\nkind = "hairpin-1f1b"\n'
REPLICAS = "[site]\ndata_parallel = 2\n"
ZERO = REPLICAS + "zero = 1\n"
LATER = "overlap_grad_reduce = false\noverlap_param_gather = false\n"

REFERENCE = "reference"
ROWS = {
    REFERENCE: Row("[site]\nthreads = 2\n"),
    "one-thread": Row("[site]\nthreads = 1\n"),
    "tp2": Row("[site]\ntensor_parallel = 2\n"),
    "tp2-sp": Row("[site]\ntensor_parallel = 2\nsequence_parallel = true\n"),
    "dp2": Row(REPLICAS, microbatches=2, replicas=True),
    "dp2-no-overlap": Row(REPLICAS + LATER, microbatches=2, replicas=True),
    "zero1": Row(ZERO, microbatches=2, replicas=True),
    "zero1-no-overlap": Row(ZERO + LATER, microbatches=2, replicas=True),
    "pp2": Row(PIPELINE),
    "split": Row(SPLIT),
    "split-tp2": Row(SPLIT + "[cloud]\ntensor_parallel = 2\n"),
}


@dataclass
class Communication:
    """Of one kind, by one run's trace."""

    seconds_per_step: float
    bytes_per_second: float
    exposed: float  # of the seconds, 0 to 1
    standstill: float


@dataclass
class Measure:
    tokens_per_second: float
    largest_rank_bytes: float
    all_ranks_bytes: float
    communication: dict[str, Communication]


def communication(trace: Path, steps: int) -> dict[str, Communication]:
    shares = exposed_shares(json.loads(trace.read_text(encoding="utf-8")), steps + 1)
    return {
        kind: Communication(
            share.active / steps,
            share.bytes_per_second(),
            share.exposed_share(),
            share.standstill_share(),
        )
        for kind, share in shares.items()
    }


def measure(name: str, row: Row, steps: int, tokens: int) -> Measure:
    run = f"scaling-{name}"
    job, directory = write_job(
        run,
        row.sites,
        steps=steps,
        model=EVEN,
        tokens=tokens,
        microbatches=row.microbatches,
        trace=True,
    )
    Process(WORK / f"{run}.log", [HAIRPIN, "train", job]).finish()
    sites = [path.parent for path in sorted(directory.rglob("metrics.jsonl"))]  # cloud, edge
    for site in sites:
        shutil.rmtree(site / "export", ignore_errors=True)  # half a gigabyte each
    peaks = [rank["peak"] for site in sites for rank in records(site)[-1]["tensor_memory"]]
    return Measure(
        tokens_per_second=speed(sites[-1]),
        largest_rank_bytes=max(peaks),
        all_ranks_bytes=sum(peaks),
        communication=communication(directory / "trace.json", steps) if row.replicas else {},
    )


def medians(runs: list[Measure]) -> Measure:
    def of(pick) -> float:
        return statistics.median(pick(run) for run in runs)

    return Measure(
        of(lambda run: run.tokens_per_second),
        of(lambda run: run.largest_rank_bytes),
        of(lambda run: run.all_ranks_bytes),
        {
            kind: Communication(
                of(lambda run: run.communication[kind].seconds_per_step),
                of(lambda run: run.communication[kind].bytes_per_second),
                of(lambda run: run.communication[kind].exposed),
                of(lambda run: run.communication[kind].standstill),
            )
            for kind in runs[0].communication
        },
    )


def machine() -> str:
    info = Path("/proc/cpuinfo")
    text = info.read_text(encoding="utf-8") if info.exists() else ""
    models = [line.split(":", 1)[1].strip() for line in text.splitlines() if "model name" in line]
    return f"{os.cpu_count()} cores, {models[0] if models else platform.machine()}"


def results(measures: dict[str, list[Measure]]) -> dict[str, dict]:
    """A row's medians, and its ratios to the reference."""
    reference = medians(measures[REFERENCE])
    rows = {}
    for name, runs in measures.items():
        own = medians(runs)
        rows[name] = {
            "tokens_per_second": own.tokens_per_second,
            "speed_ratio": own.tokens_per_second / reference.tokens_per_second,
            "largest_rank_bytes": own.largest_rank_bytes,
            "largest_rank_ratio": own.largest_rank_bytes / reference.largest_rank_bytes,
            "all_ranks_bytes": own.all_ranks_bytes,
            "all_ranks_ratio": own.all_ranks_bytes / reference.all_ranks_bytes,
            "communication": {kind: vars(each) for kind, each in own.communication.items()},
            "repeats_tokens_per_second": [run.tokens_per_second for run in runs],
        }
    return rows


def print_tables(rows: dict[str, dict]) -> None:
    print(
        f"\n{'':16} {'tokens/s':>9} {'x ref':>7} {'largest rank GB':>16} {'x ref':>7} "
        f"{'all ranks GB':>13} {'x ref':>7}"
    )
    for name, row in rows.items():
        print(
            f"{name:16} {row['tokens_per_second']:9.1f} {row['speed_ratio']:7.2f} "
            f"{row['largest_rank_bytes'] / 1e9:16.2f} {row['largest_rank_ratio']:7.2f} "
            f"{row['all_ranks_bytes'] / 1e9:13.2f} {row['all_ranks_ratio']:7.2f}"
        )
    lines = [
        f"{name:16} {kind:16} {each['seconds_per_step'] * 1e3:8.1f} "
        f"{each['bytes_per_second'] / 1e9:7.2f} {each['exposed']:8.1%} {each['standstill']:11.1%}"
        for name, row in rows.items()
        for kind, each in row["communication"].items()
    ]
    if lines:
        print(
            f"\n{'':16} {'between replicas':16} {'ms/step':>8} {'GB/s':>7} {'exposed':>8} "
            f"{'standstill':>11}"
        )
        print("\n".join(lines))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--steps", type=int, default=1, help="measured, after one to warm up")
    parser.add_argument("--tokens", type=int, default=192, help="of a microbatch, 64 to 512")
    parser.add_argument("--only", action="append", metavar="ROW", help="beside the reference")
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    for name in arguments.only or []:
        if name not in ROWS:
            parser.error(f"no row '{name}'; there are {', '.join(ROWS)}")
    if min(arguments.repeats, arguments.steps) < 1:
        parser.error("--repeats and --steps are at least 1")
    if not 64 <= arguments.tokens <= 512:
        parser.error("--tokens is 64 to 512: questions need the first 30, and no sample is longer")
    return arguments


def main() -> None:
    arguments = parse_arguments()
    output = arguments.json.resolve() if arguments.json else None
    prepare()
    make_even_heads(MODEL, EVEN)
    chosen = {REFERENCE, *(arguments.only or ROWS)}
    measures: dict[str, list[Measure]] = {name: [] for name in ROWS if name in chosen}
    print(f"scaling on {machine()}: {4 * arguments.tokens} tokens a step", flush=True)
    for repeat in range(1, arguments.repeats + 1):
        for name, runs in measures.items():
            runs.append(measure(name, ROWS[name], arguments.steps, arguments.tokens))
            print(
                f"repeat {repeat}: {name:16} {runs[-1].tokens_per_second:7.1f} tokens/s",
                flush=True,
            )
    rows = results(measures)
    print_tables(rows)
    if output:
        settings = {key: getattr(arguments, key) for key in ("repeats", "steps", "tokens")}
        report = {"machine": machine(), **settings, "rows": rows}
        output.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
