"""The product's commands as processes, and the jobs and files that they are given."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 180  # seconds for anything to happen on a busy machine
ERROR = "hairpin: error: "


def binary(target: str) -> str:
    variable = f"HAIRPIN_{target}"
    if variable not in os.environ:
        sys.exit(f"{variable} is not set to the path of the binary: run this through ctest")
    return os.environ[variable]


def wait_until(what: str, true_now) -> None:
    end = time.monotonic() + PATIENCE
    while not true_now():
        if time.monotonic() > end:
            raise AssertionError(f"waited {PATIENCE} s in vain: {what}")
        time.sleep(0.05)


@dataclass
class Ended:
    code: int
    out: str
    err: str

    def error(self) -> str:
        """The one line that says what went wrong: the last one on standard error."""
        lines = self.err.splitlines()
        errors = [line for line in lines if line.startswith("hairpin: ")]
        if len(errors) != 1 or lines[-1] != errors[0] or not errors[0].startswith(ERROR):
            raise AssertionError(f"not one error line at the end, code {self.code}:\n{self.err}")
        return errors[0].removeprefix(ERROR)


class Running:
    """A command under way. Its output goes to files, so that a full pipe never stops it."""

    def __init__(self, *arguments: object):
        self.files = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        command = [binary("hairpin"), *map(str, arguments)]
        out, err = self.files
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)

    def text(self, index: int) -> str:
        size = os.fstat(self.files[index].fileno()).st_size
        return os.pread(self.files[index].fileno(), size, 0).decode()

    def err(self) -> str:
        return self.text(1)

    def wait_to_say(self, words: str) -> None:
        wait_until(f"{words!r} in {self.err()!r}", lambda: words in self.err() or self.ended())
        if words not in self.err():
            raise AssertionError(f"ended without saying {words!r}:\n{self.err()}")

    def ended(self) -> bool:
        return self.process.poll() is not None

    def wait(self, limit: float = PATIENCE) -> Ended:
        try:
            code = self.process.wait(limit)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {limit} s:\n{self.err()}") from None
        return Ended(code, self.text(0), self.text(1))

    def stop(self) -> None:
        if not self.ended():
            self.process.kill()
        self.process.wait()
        for file in self.files:
            file.close()


def hairpin(*arguments: object) -> Ended:
    command = Running(*arguments)
    try:
        return command.wait()
    finally:
        command.stop()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def sample(question: str, answer: str) -> str:
    roles = ("user", question), ("assistant", answer)
    return json.dumps({"messages": [{"role": r, "content": text} for r, text in roles]}) + "\n"


QUESTIONS = "fever", "cough", "a broken wrist", "asthma", "chest pain", "snow blindness", "gout"
SAMPLES = [sample(f"Code for {what}?", f"Q{i}.{i} {what}") for i, what in enumerate(QUESTIONS)]


class Job:
    """A job file. `output` is new for each, so whatever is there, this job's run has written."""

    def __init__(self, file: Path, keys: dict[str, object]):
        self.file = file
        self.output = Path(str(keys["output.directory"]))
        self.port = int(str(keys.get("link.address", ":0")).rpartition(":")[2])
        tables: dict[str, list[str]] = {}
        for name, value in keys.items():
            table, key = name.split(".")
            tables.setdefault(table, []).append(f"{key} = {json.dumps(value)}")
        file.write_text("".join(f"[{t}]\n" + "\n".join(rows) + "\n" for t, rows in tables.items()))

    def metrics(self, site: str = "") -> list[dict]:
        file = self.output / site / "metrics.jsonl"
        if not file.exists():
            return []
        whole = file.read_text().rpartition("\n")[0]  # the last line may be half written
        return [json.loads(line) for line in whole.splitlines()]


class ProductTest(unittest.TestCase):
    """Has a folder with a tiny model, samples and keys, made once for a class."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(tempfile.mkdtemp(prefix="hairpin-e2e-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.jobs = 0
        cls.model, cls.keys = cls.folder / "model", cls.folder / "keys"
        for what, where in ("model", cls.model), ("keys", cls.keys):
            subprocess.run([binary("make_tiny"), what, where], check=True)
        cls.samples = cls.folder / "train.jsonl"
        cls.samples.write_text("".join(SAMPLES))

    @classmethod
    def job(cls, changes: dict[str, object] | None = None, without: tuple[str, ...] = ()) -> Job:
        """A split job of two quick steps; `changes` are keys "table.key", None takes one away."""
        cls.jobs += 1
        keys = {
            "model.path": str(cls.model),
            "split.layers": [1, 2, 1],
            "data.train": str(cls.samples),
            "data.sequence_length": 128,
            "train.steps": 2,
            "train.microbatches": 2,
            "optimizer.learning_rate": 0.001,
            "edge.keys": str(cls.keys / "good" / "edge"),
            "cloud.keys": str(cls.keys / "good" / "cloud"),
            "link.address": f"127.0.0.1:{free_port()}",
            "output.directory": str(cls.folder / f"run{cls.jobs}"),
        }
        keys = {key: value for key, value in keys.items() if key.split(".")[0] not in without}
        keys.update(changes or {})
        keys = {key: value for key, value in keys.items() if value is not None}
        return Job(cls.folder / f"job{cls.jobs}.toml", keys)

    def start(self, *arguments: object) -> Running:
        command = Running(*arguments)
        self.addCleanup(command.stop)
        return command

    def run_well(self, *arguments: object) -> Ended:
        ended = hairpin(*arguments)
        self.assertEqual(ended.code, 0, ended.err)
        return ended

    def assert_error(self, ended: Ended, code: int, *words: str) -> str:
        self.assertEqual(ended.code, code, ended.err)
        error = ended.error()
        for word in words:
            self.assertIn(word, error)
        return error

    def refuse(self, command: str, job: Job, *words: str) -> Ended:
        """Bad input: exit code 2, one line with those words, and nothing written."""
        ended = hairpin(command, job.file)
        error = self.assert_error(ended, 2, *words)
        self.assertFalse(job.output.exists(), f"written although: {error}")
        print(f"  {error}".replace(str(self.folder), "..."), file=sys.stderr)
        return ended
