"""The demo: `make demo` runs this from the repository's root, with build/venv's Python.

A hospital fine-tunes a language model on its own coding samples with a cloud that never sees them.
Edge and cloud are two processes that speak mutual TLS 1.3 over one TCP port of this machine. Each
step below is one command that you can also type; everything lands in build/demo. Exits 0 only if
the held-out loss fell as promised and `transformers` agrees with it.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = Path(__file__).resolve().parent.relative_to(ROOT)
WORK = Path("build/demo")
HAIRPIN = "build/bin/hairpin"
JOB = HERE / "job.toml"
LAYERS = "6,19,5"  # as in job.toml
RUN = WORK / "run"  # its [output] directory
EXPORT = RUN / "edge" / "export"
EGRESS_LOG = RUN / "edge" / "egress.jsonl"

LOSS_BEFORE = (4.0, 4.7)
LOSS_AFTER = 2.6  # at most
WITNESS_TOLERANCE = 1e-4
QUESTIONS = 4


class Clock:
    """Prints a heading for each step and remembers how long it took."""

    def __init__(self) -> None:
        self.begin = self.step_begin = time.monotonic()
        self.steps: list[tuple[str, float]] = []

    def heading(self, title: str) -> None:
        self.close()
        self.steps.append((title, 0.0))
        print(f"\n== {title}", flush=True)

    def close(self) -> None:
        now = time.monotonic()
        if self.steps:
            self.steps[-1] = (self.steps[-1][0], now - self.step_begin)
        self.step_begin = now

    def summary(self) -> str:
        self.close()
        lines = [f"  {seconds:6.1f} s  {title}" for title, seconds in self.steps]
        return "\n".join([*lines, f"  {time.monotonic() - self.begin:6.1f} s  in all"])


def stop(message: str) -> None:
    sys.exit(f"demo: {message}")


def run(*command: object, quiet: bool = False) -> str:
    """Runs a command to its end; its standard output. A failure ends the demo with its code."""
    words = [str(word) for word in command]
    if not quiet:
        print("$", " ".join(words), flush=True)
    result = subprocess.run(words, stdout=subprocess.PIPE, text=True)
    if result.returncode != 0:
        print(result.stdout, end="")
        print(f"demo: exit code {result.returncode} from: {' '.join(words)}", file=sys.stderr)
        sys.exit(result.returncode)
    return result.stdout


def make_inputs() -> list[dict]:
    """Model, samples, keys and the two halves; returns the samples to ask about."""
    python = sys.executable
    print(run(python, HERE / "make_model.py", WORK / "model"), end="")
    print(run(python, HERE / "make_data.py", WORK / "data"), end="")
    for old in ("keys", "edge", "cloud", "run"):
        shutil.rmtree(WORK / old, ignore_errors=True)
    run(HAIRPIN, "keys", WORK / "keys")
    split = ("--layers", LAYERS, "--edge", WORK / "edge", "--cloud", WORK / "cloud")
    run(HAIRPIN, "convert", "split", WORK / "model", *split)
    with open(WORK / "data" / "eval.jsonl", encoding="utf-8") as file:
        return [json.loads(next(file)) for _ in range(QUESTIONS)]


def assess(model: Path, samples: list[dict]) -> float:
    """Prints held-out loss and greedy answers of a model; returns the loss."""
    data = WORK / "data" / "eval.jsonl"
    result = json.loads(run(HAIRPIN, "eval", model, "--data", data, "--threads", 2, "--json"))
    print(f"held-out loss {result['loss']:.4f} over {result['trained_tokens']} tokens")
    prompts = [word for sample in samples for word in ("--prompt", sample["messages"][0]["content"])]
    options = ("--max-tokens", 40, "--threads", 2, "--json")
    answers = run(HAIRPIN, "generate", model, *prompts, *options, quiet=True).splitlines()
    for sample, line in zip(samples, answers, strict=True):
        question, wanted = (message["content"] for message in sample["messages"])
        answer = " ".join(json.loads(line)["answer"].split())
        print(f"  {question}\n    answers  {answer}\n    expected {wanted}")
    return result["loss"]


def free_address() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def start(site: str, address: str, output) -> subprocess.Popen:
    command = [HAIRPIN, site, str(JOB), "--set", f"link.address={address}"]
    print("$", " ".join(command), flush=True)
    return subprocess.Popen(command, stdout=output, stderr=output)


def train() -> None:
    """Both sites to their ends. When one fails the other notices by itself, in seconds."""
    address = free_address()
    log = WORK / "cloud.log"
    with open(log, "w", encoding="utf-8") as cloud_output:
        cloud = start("cloud", address, cloud_output)
        edge = start("edge", address, None)
        try:
            edge.wait()
            cloud.wait(timeout=60)
        except subprocess.TimeoutExpired:
            stop(f"the edge ended with code {edge.returncode} but the cloud goes on; see {log}")
        finally:
            for process in (edge, cloud):
                if process.poll() is None:
                    process.kill()
    if edge.returncode or cloud.returncode:
        print(log.read_text(encoding="utf-8"), end="", file=sys.stderr)
        stop(f"exit codes: edge {edge.returncode}, cloud {cloud.returncode}")


def witness_loss() -> float:
    script = HERE / "transformers_loss.py"
    return json.loads(run(sys.executable, script, EXPORT, WORK / "data" / "eval.jsonl"))["loss"]


def verdict(before: float, after: float, witness: float) -> list[str]:
    """What is wrong with the figures; empty when they are as promised."""
    wrong = []
    if not LOSS_BEFORE[0] <= before <= LOSS_BEFORE[1]:
        wrong.append(f"loss before is {before:.4f}, expected {LOSS_BEFORE[0]} to {LOSS_BEFORE[1]}")
    if not after < LOSS_AFTER:
        wrong.append(f"loss after is {after:.4f}, expected below {LOSS_AFTER}")
    if not abs(after - witness) <= WITNESS_TOLERANCE:
        wrong.append(f"transformers measures {witness:.6f}, hairpin {after:.6f}")
    return wrong


def main() -> None:
    os.chdir(ROOT)
    WORK.mkdir(parents=True, exist_ok=True)
    clock = Clock()
    clock.heading("Model, samples, keys, and the model cut in two")
    samples = make_inputs()
    clock.heading("Before")
    before = assess(WORK / "model", samples)
    clock.heading("Fine-tuning across two processes")
    train()
    clock.heading("After")
    after = assess(EXPORT, samples)
    clock.heading("What left the edge")
    print(run(HAIRPIN, "audit", "log", EGRESS_LOG), end="")
    clock.heading("transformers as witness")
    witness = witness_loss()
    print(f"held-out loss {witness:.6f}, hairpin says {after:.6f}")

    clock.heading("Where everything lies")
    for what, path in {
        "fine-tuned model": EXPORT,
        "losses and times, step by step": RUN / "edge" / "metrics.jsonl",
        "all that left the edge": EGRESS_LOG,
        "the edge's half before training": WORK / "edge",
        "the cloud's half, which holds no edge layer": WORK / "cloud",
        "samples": WORK / "data",
    }.items():
        print(f"  {path}  ({what})")
    print(clock.summary())
    if wrong := verdict(before, after, witness):
        stop("; ".join(wrong))
    print(f"demo: held-out loss {before:.2f} -> {after:.2f}")


if __name__ == "__main__":
    main()
