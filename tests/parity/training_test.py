"""Ten steps of training follow `transformers` and torch.optim.AdamW: losses and gradient norms."""

import json
import random
import tempfile
import unittest
from pathlib import Path

import torch

import binaries
import twin

STEPS = 10
TOLERANCE = 1e-4  # relative
OPTIONS = {
    "learning_rate": 3e-3,
    "beta1": 0.9,
    "beta2": 0.95,
    "epsilon": 1e-8,
    "weight_decay": 0.1,
    "clip_norm": 1.0,
    "warmup_steps": 3,
}


def make_steps() -> list[list[dict]]:
    """Microbatches of unequal sizes, so that a mean of means would show."""
    generator = random.Random(5)
    batches = [make_microbatches(generator) for _ in range(3)]
    return [batches[step % len(batches)] for step in range(STEPS)]


def make_microbatches(generator: random.Random) -> list[dict]:
    return [
        twin.make_batch([40, 23], generator),
        twin.make_batch([90], generator, masked=0.8),
        twin.make_batch([5, 31, 12], generator, masked=0.0),
    ]


class Training(unittest.TestCase):
    def check(self, kind: str) -> None:
        steps = make_steps()
        with tempfile.TemporaryDirectory() as folder:
            model = twin.make_model(kind, Path(folder) / "model")
            file = Path(folder) / "steps.json"
            file.write_text(json.dumps({"optimizer": OPTIONS, "steps": steps}))
            output = binaries.run("parity_probe", "train", Path(folder) / "model", file)
        actual = [json.loads(line) for line in output.splitlines()]
        expected = twin.train(model, OPTIONS, steps)

        self.assertEqual(len(actual), STEPS)
        self.assertLess(expected[-1]["loss"], 0.9 * expected[0]["loss"])  # it does learn
        self.assertGreater(expected[0]["grad_norm"], OPTIONS["clip_norm"])  # it does clip
        for step, (ours, theirs) in enumerate(zip(actual, expected), start=1):
            for key in ("loss", "grad_norm"):
                error = abs(ours[key] - theirs[key]) / theirs[key]
                print(f"{kind} step {step}: {key} {theirs[key]:.6f}, relative error {error:.1e}")
                self.assertLessEqual(error, TOLERANCE, f"{key} of step {step}")

    def test_tied_llama(self):
        self.check("tied Llama")

    def test_untied_qwen2(self):
        self.check("untied Qwen2")


if __name__ == "__main__":
    torch.set_num_threads(1)
    unittest.main()
