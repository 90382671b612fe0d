"""What a codec does to training: make build model, then this from the repository's root.

    codec_loss.py [--steps 30] [--seeds 1 2] [--only ROW ...] [--json FILE]

Fine-tunes SmolLM2-135M on the ICD-10 example, split as the demo is, 8 samples a step, once for each
row and seed: `hairpin train` with both sites in one process, where tensors cross a link in memory in
the codec that the row says. Nothing here is timed, so other work on the machine does no harm but to
patience: a run of 30 steps takes two and a half minutes of one core's time.

A seed decides which samples a step has, so runs of one seed are compared with each other: a row's
figures are its difference to `fp32` with the same seed, of the loss of the last steps (mean over a
sixth of them) and of held-out samples, each seed and their mean. `fp32`'s own row shows the losses
themselves, and how far apart the seeds are: a codec whose difference is smaller than that does less
than the order of the samples.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from workload import DATA, HAIRPIN, MODEL, WORK, Process, prepare, records

JOB = """
[model]
path = "{model}"
[split]
layers = [6, 19, 5]
[data]
train = "{train}"
packing = false
[train]
steps = {steps}
microbatches = 4
microbatch_size = 2
seed = {seed}
[optimizer]
learning_rate = 3e-4
warmup_steps = 5
decay = "constant"
clip_norm = 1.0
[link]
{codecs}
[output]
directory = "{directory}"
"""

REFERENCE = "fp32"


def one(codec: str) -> str:
    return f'codec = "{codec}"'


def each(activation: str, gradient: str) -> str:
    return "\n".join(
        f'codec_{kind}_{way} = "{codec}"'
        for kind, codec in (("activation", activation), ("gradient", gradient))
        for way in ("up", "down")
    )


# Activations / gradients, where they differ.
ROWS = {
    REFERENCE: one("fp32"),
    "bf16": one("bf16"),
    "int8": one("int8"),
    "int4 / int8": each("int4", "int8"),
    "int4": one("int4"),
}


@dataclass
class Loss:
    last: float  # of the last steps
    held_out: float
    bytes_up: float  # a token
    bytes_down: float


def held_out(model: Path) -> float:
    command = [HAIRPIN, "eval", model, "--data", DATA / "eval.jsonl", "--json"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)["loss"]


def measure(row: str, seed: int, steps: int) -> Loss:
    name = f"codec-{row.replace(' / ', '-')}-{seed}"
    directory = WORK / name
    shutil.rmtree(directory, ignore_errors=True)
    job = WORK / f"{name}.toml"
    job.write_text(
        JOB.format(
            model=MODEL,
            train=DATA / "train.jsonl",
            steps=steps,
            seed=seed,
            codecs=ROWS[row],
            directory=directory,
        ),
        encoding="utf-8",
    )
    Process(WORK / f"{name}.log", [HAIRPIN, "train", job]).finish()
    edge = records(directory / "edge")
    tokens = sum(record["tokens"] for record in edge)
    loss = Loss(
        last=statistics.mean(record["loss"] for record in edge[-max(1, steps // 6) :]),
        held_out=held_out(directory / "edge/export"),
        bytes_up=sum(record["link_bytes_up"] for record in edge) / tokens,
        bytes_down=sum(record["link_bytes_down"] for record in edge) / tokens,
    )
    shutil.rmtree(directory / "edge/export")  # half a gigabyte
    return loss


def cells(values: list[float], width: int, form: str) -> str:
    """Each seed's value, then their mean."""
    return "".join(
        f"{format(value, form):>{width}}" for value in [*values, statistics.mean(values)]
    )


def print_table(losses: dict[str, dict[int, Loss]], seeds: list[int]) -> None:
    heads = "".join(f"{f'seed {seed}':>10}" for seed in seeds) + f"{'mean':>10}"
    reference = losses[REFERENCE]
    print(f"\n{'':14}{'last steps':>{len(heads)}}{'held out':>{len(heads)}}")
    print(f"{'':14}{heads}{heads}  bytes/token up, down")
    for row, by_seed in losses.items():
        columns = []
        for part in "last", "held_out":
            values = [getattr(by_seed[seed], part) for seed in seeds]
            own = [getattr(reference[seed], part) for seed in seeds]
            if row == REFERENCE:
                columns.append(cells(values, 10, ".3f"))
            else:
                columns.append(cells([v - o for v, o in zip(values, own)], 10, "+.3f"))
        up, down = (
            statistics.mean(getattr(loss, part) for loss in by_seed.values())
            for part in ("bytes_up", "bytes_down")
        )
        print(f"{row:14}{columns[0]}{columns[1]} {up:9.0f} {down:9.0f}")
    for part, name in ("last", "last steps"), ("held_out", "held out"):
        own = [getattr(reference[seed], part) for seed in seeds]
        print(f"{REFERENCE}, {name}: the seeds are {max(own) - min(own):.3f} apart")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", action="append", choices=ROWS, help=f"{REFERENCE} always runs")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()

    prepare()
    rows = [row for row in ROWS if row in (REFERENCE, *(arguments.only or ROWS))]
    losses: dict[str, dict[int, Loss]] = {row: {} for row in rows}
    for row in rows:
        for seed in arguments.seeds:
            loss = losses[row][seed] = measure(row, seed, arguments.steps)
            print(f"{row:12} seed {seed}: {loss.last:.4f}, {loss.held_out:.4f}", flush=True)
    print_table(losses, arguments.seeds)
    if arguments.json:
        text = {
            row: {seed: asdict(loss) for seed, loss in runs.items()} for row, runs in losses.items()
        }
        arguments.json.write_text(json.dumps(text, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
