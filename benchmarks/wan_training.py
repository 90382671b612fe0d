"""Real training over an emulated wide-area network, beside its limits. Needs root and TUN devices, two
cores and a machine with nothing else to do; `make test-wan` builds what it runs.

    wan_training.py latency    a thin model at round trips of 0 to 100 ms: hairpin-adaptive,
                               hairpin-1f1b, gpipe and PyTorch's own pipelining
    wan_training.py smollm2    SmolLM2-135M by hairpin-adaptive
    wan_training.py bandwidth  a slow link: int8 and int4 beside bf16
    wan_training.py changes    a cloud slowed by half, and a longer way, in mid-run

Each prints a table with the limits and writes its figures to --json (default: in the working folder);
exit code 1 when one is missed. docs/benchmarks.md says what is measured and how.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import wan_bandwidth
import wan_kept
import wan_latency
import wan_slowed
import workload
from wan_runs import ROOT, Place
from wan_thin import Shape, write_model, write_samples

from wan import why_not

THIN = Shape(layers=(3, 6, 3), hidden=256, intermediate=768, heads=8, tokens=128)
NARROW = Shape(layers=(1, 1, 1), hidden=256, intermediate=64, heads=4, tokens=512)
SMOLLM2_LAYERS = (6, 19, 5)
KEPT = {5: 0.99, 20: 0.98, 100: 0.95}  # by round trip in ms
Result = tuple[bool, object]


def thin_job(place: Place, shape: Shape, microbatches: int) -> dict[str, object]:
    model, data = place.work / "model", place.work / "train.jsonl"
    write_model(model, shape, place.binary("make_tiny"))
    write_samples(data, microbatches, shape.tokens)
    return {"model.path": str(model), "data.train": str(data)}


def kept(place: Place, table: wan_latency.Table) -> Result:
    outcomes = wan_latency.measure_all(place, table)
    rows = wan_kept.rows_of(table, outcomes)
    wan_kept.print_rows(rows)
    equal = wan_kept.check_losses(outcomes)
    figures = {"rows": rows, "outcomes": outcomes}
    return equal and all(row.holds() for row in rows), figures


def latency(place: Place, options: argparse.Namespace) -> Result:
    microbatches = options.microbatches or 64
    table = wan_latency.Table(
        job=thin_job(place, THIN, microbatches),
        layers=THIN.layers,
        microbatches=microbatches,
        tokens=THIN.tokens,
        rtts=options.rtt or [0, 5, 20, 100],
        limits=KEPT,
        contenders=options.contenders,
        rounds=options.rounds or 5,
        other_rounds=options.other_rounds,
        steps=options.steps or 2,
    )
    return kept(place, table)


def smollm2(place: Place, options: argparse.Namespace) -> Result:
    data = place.work / "train.jsonl"
    workload.write_long_samples(options.data, data)
    table = wan_latency.Table(
        job={"model.path": str(options.model), "data.train": str(data)},
        layers=SMOLLM2_LAYERS,
        microbatches=options.microbatches or 16,
        tokens=128,
        rtts=options.rtt or [0, 20, 100],
        limits={},
        contenders=[wan_latency.ADAPTIVE],
        rounds=options.rounds or 3,
        other_rounds=0,
        steps=options.steps or 2,
    )
    return kept(place, table)


def split_job(place: Place, shape: Shape, microbatches: int, steps: int) -> dict[str, object]:
    return {
        **thin_job(place, shape, microbatches),
        "split.layers": list(shape.layers),
        "data.sequence_length": shape.tokens,
        "train.microbatches": microbatches,
        "train.steps": steps,
    }


def bandwidth(place: Place, options: argparse.Namespace) -> Result:
    microbatches = options.microbatches or 16
    changes = split_job(place, NARROW, microbatches, steps=2 + (options.steps or 3))
    outcomes = wan_bandwidth.measure_all(place, changes, options.rate_mbit, options.rounds or 3)
    rows = wan_bandwidth.rows_of(outcomes, options.rate_mbit)
    wan_bandwidth.print_rows(rows)
    return all(row.holds() for row in rows), {"rows": rows, "outcomes": outcomes}


def changes(place: Place, options: argparse.Namespace) -> Result:
    microbatches = options.microbatches or 8
    job = split_job(place, THIN, microbatches, steps=8 + (options.steps or 30))
    outcomes = wan_slowed.measure_all(place, job, after_step=8)
    for outcome in outcomes:
        wan_slowed.print_outcome(outcome)
    return all(outcome.holds() for outcome in outcomes), {"outcomes": outcomes}


TABLES: dict[str, Callable[[Place, argparse.Namespace], Result]] = {
    "latency": latency,
    "smollm2": smollm2,
    "bandwidth": bandwidth,
    "changes": changes,
}


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    contenders = [wan_latency.ADAPTIVE, "hairpin-1f1b", "gpipe", wan_latency.PEER + "ZBV"]
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--other-rounds", type=int, default=2, help="of all but hairpin-adaptive")
    parser.add_argument("--steps", type=int, help="that count; of changes: after the change")
    parser.add_argument("--microbatches", type=int)
    parser.add_argument("--rtt", type=float, nargs="+", help="ms; the first is what others keep of")
    parser.add_argument("--contenders", nargs="+", default=contenders)
    parser.add_argument("--rate-mbit", type=float, default=14, help="of bandwidth")
    parser.add_argument("--model", type=Path, default=ROOT / workload.MODEL, help="of smollm2")
    parser.add_argument("--data", type=Path, default=ROOT / workload.DATA / "train.jsonl")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--work", type=Path, default=ROOT / workload.WORK / "wan")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def main() -> None:
    options = parse()
    os.environ.setdefault("HAIRPIN_wanem", str(options.build.resolve() / "bin" / "wanem"))
    if reason := why_not():
        sys.exit(reason)
    place = Place(options.build.resolve(), options.work.resolve() / options.table)
    shutil.rmtree(place.work, ignore_errors=True)
    (place.work / "runs").mkdir(parents=True)
    keys = [place.binary("hairpin"), "keys", place.work / "keys"]
    subprocess.run(keys, check=True, stdout=subprocess.DEVNULL)
    began = time.monotonic()
    holds, figures = TABLES[options.table](place, options)
    file = options.json or place.work / "figures.json"
    file.write_text(json.dumps(figures, indent=1, default=asdict), encoding="utf-8")
    print(f"\n{'all hold' if holds else 'MISSED'}; {time.monotonic() - began:.0f} s; {file}")
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
