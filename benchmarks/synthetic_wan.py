"""Is a step over a real link as long as the simulator says? Stages that wait instead of computing
(tests/wan/synthetic_stage.h), everything else as in training, over an emulated wide-area network.

    synthetic_wan.py [--only main jitter split] [--pp 2 3] [--latency 0 4] [--steps 3] [--ordinary]
                     [--json FILE]

Needs root and TUN devices, `synthetic_run` and `wanem` (--build DIR, default build), and a machine
with nothing else to do. All of it takes about seven minutes; exit code 1 if a limit is exceeded.
Both sites run with a real-time priority, as the emulator does: a stage that waits stands for one
whose cores are its own. With --ordinary they don't.

A time unit tf is 10 ms: forwards of head and tail take one, their backwards two, a cloud stage's
forward two, its backward four; 32 microbatches a step; tensors of 4 kB, so that transfers take no
time. The schedule is made for these times and the latency, and the same times are what is simulated.
A row is the median of --steps steps after one that warms up, over the simulated step's time:

main    hairpin-adaptive, PP 2 to 5, one-way latency 0, 1, 4 and 10 tf: within 3 %.
jitter  the same where the latency changes by up to 20 % of itself either way, held for 10 ms each
        time, nothing overtaking anything. Schedule and simulator are given its mean: within 5 %.
split   hairpin-adaptive and hairpin-1f1b with whole and with split backwards, PP 3 and 5, latency
        1 and 4 tf: within 3 %, pending weights' gradients within what the schedule says.

A step goes from its beginning at the edge to the next one's: manifest, all ops, both sites' scalars.
"""

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "wan"))
from wan import Wan, why_not  # noqa: E402

UNIT_MS = 10
MICROBATCHES = 32
JITTER = 0.2  # of the latency, either way
LIMIT, JITTER_LIMIT = 0.03, 0.05
ALL_PP = [2, 3, 4, 5]
ALL_LATENCIES = [0, 1, 4, 10]  # tf
PATIENCE = 120  # seconds for one row


@dataclass(frozen=True)
class Row:
    table: str
    pp: int
    latency: int  # tf
    kind: str = "hairpin-adaptive"
    split: bool = False

    def limit(self) -> float:
        return JITTER_LIMIT if self.table == "jitter" else LIMIT

    def emulated(self) -> dict[str, float]:
        delay = self.latency * UNIT_MS
        if self.table != "jitter":
            return {"delay_ms": delay}
        return {"delay_ms": delay * (1 - JITTER), "jitter_ms": delay * 2 * JITTER}


@dataclass(frozen=True)
class Outcome:
    row: Row
    simulated: float  # seconds, a step
    bound: float  # seconds
    measured: float  # median
    steps: list[float]
    peak_pending: int  # weights' gradients, of the stage with the most
    pending_in_bound: bool
    op_overhead_us: float  # of the rank with the most
    load: float  # of the machine, one minute, before the row
    realtime: bool

    @property
    def off(self) -> float:
        return self.measured / self.simulated - 1

    @property
    def ok(self) -> bool:
        return abs(self.off) <= self.row.limit() and self.pending_in_bound


def rows_of(options: argparse.Namespace) -> list[Row]:
    chosen = list(itertools.product(options.pp, options.latency))
    rows = []
    if "main" in options.only:
        rows += [Row("main", pp, latency) for pp, latency in chosen]
    if "jitter" in options.only:
        rows += [Row("jitter", pp, latency) for pp, latency in chosen if latency > 0]
    if "split" in options.only:
        some = [(pp, latency) for pp, latency in chosen if pp in (3, 5) and latency in (1, 4)]
        for kind, split, (pp, latency) in itertools.product(
            ["hairpin-adaptive", "hairpin-1f1b"], [False, True], some
        ):
            rows.append(Row("split", pp, latency, kind, split))
    return rows


def arguments_of(row: Row, steps: int) -> list[str]:
    arguments = ["--kind", row.kind, "--pp", row.pp, "--microbatches", MICROBATCHES]
    arguments += ["--unit-us", UNIT_MS * 1000, "--latency-us", row.latency * UNIT_MS * 1000]
    arguments += ["--steps", steps + 1]
    return [str(a) for a in arguments] + (["--split-backward"] if row.split else [])


def lines_of(program: subprocess.Popen) -> list[dict]:
    out, error = program.communicate(timeout=PATIENCE)
    if program.returncode != 0:
        raise RuntimeError(f"{' '.join(program.args)}: exit code {program.returncode}\n{error}")
    return [json.loads(line) for line in out.splitlines()]


def run(row: Row, options: argparse.Namespace, binary: Path, keys: Path) -> Outcome:
    load = os.getloadavg()[0]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with Wan(**row.emulated()) as wan:
        sites = [
            wan.popen(
                site,
                [binary, "--role", site, "--host", wan.cloud, "--keys", keys / site]
                + arguments_of(row, options.steps)
                + ([] if options.ordinary else ["--realtime"]),
                **pipes,
            )
            for site in ("cloud", "edge")
        ]
        lines = [line for site in reversed(sites) for line in lines_of(site)]
    one = {line["event"]: line for line in lines}
    taken = [line["seconds"] for line in lines if line["event"] == "step" and not line["warm_up"]]
    stages = [line for line in lines if line["event"] == "stage"]
    overheads = [line["op_overhead_seconds"] for line in lines if line["event"] == "rank"]
    return Outcome(
        row=row,
        simulated=one["plan"]["simulated_step_seconds"],
        bound=one["plan"]["bound_seconds"],
        measured=statistics.median(taken),
        steps=taken,
        peak_pending=max(stage["peak_pending_weights"] for stage in stages),
        pending_in_bound=all(
            stage["peak_pending_weights"] <= stage["scheduled_peak_pending_weights"]
            and stage["peak_in_flight"] <= stage["scheduled_peak_in_flight"]
            for stage in stages
        ),
        op_overhead_us=max(overheads) * 1e6,
        load=load,
        realtime=one["plan"]["realtime"],
    )


HEAD = (
    f"{'table':7} {'kind':17} {'split':5} {'PP':>2} {'L/tf':>4} {'simulated':>10} {'measured':>10} "
    f"{'off':>7} {'limit':>6}    {'x bound':>7} {'pending':>7} {'over us':>7} {'load':>5}"
)


def text_of(outcome: Outcome) -> str:
    row = outcome.row
    return (
        f"{row.table:7} {row.kind:17} {'yes' if row.split else 'no':5} {row.pp:2} {row.latency:4} "
        f"{outcome.simulated:8.3f} s {outcome.measured:8.3f} s {outcome.off:+7.2%} "
        f"{row.limit():6.0%} {'ok' if outcome.ok else 'NO':>2} {outcome.measured / outcome.bound:7.3f} "
        f"{outcome.peak_pending:7} {outcome.op_overhead_us:7.0f} {outcome.load:5.2f}"
    )


def options_of() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    tables = ["main", "jitter", "split"]
    parser.add_argument("--only", nargs="+", choices=tables, default=tables)
    parser.add_argument("--pp", nargs="+", type=int, default=ALL_PP)
    parser.add_argument("--latency", nargs="+", type=int, default=ALL_LATENCIES, help="tf, one way")
    parser.add_argument("--steps", type=int, default=3, help="that count, after one that warms up")
    parser.add_argument("--ordinary", action="store_true", help="no real-time priority")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--json", type=Path, help="where the outcomes go as well")
    return parser.parse_args()


def main() -> int:
    options = options_of()
    binary = (options.build / "bin" / "synthetic_run").resolve()
    os.environ.setdefault("HAIRPIN_wanem", str(options.build.resolve() / "bin" / "wanem"))
    if reason := why_not():
        sys.exit(reason)
    began = time.monotonic()
    outcomes = []
    print(HEAD, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        keys = Path(folder) / "keys"
        subprocess.run([binary, "--write-keys", keys], check=True)
        for row in rows_of(options):
            outcomes.append(run(row, options, binary, keys))
            print(text_of(outcomes[-1]), flush=True)
    outside = sum(not outcome.ok for outcome in outcomes)
    realtime = all(outcome.realtime for outcome in outcomes)
    print(
        f"{len(outcomes)} rows, {outside} outside; {time.monotonic() - began:.0f} s; "
        f"{'real-time' if realtime else 'ordinary'} priority"
    )
    if options.json:
        options.json.write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=1))
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
