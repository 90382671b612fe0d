"""SmolLM2 on two unequal sites: one edge rank, and a cloud of TP 3 x DP 2 behind one link.

Two steps, then the export loads in `transformers`; its held-out loss, and each step's loss, are those
of a run on one rank.
"""

import json
import os
import tempfile
import unittest
from pathlib import Path

import torch

import binaries
import export_test

TOLERANCE = 1e-4  # relative
SITES = {
    "one rank": "[train]\nsteps = 2\nmicrobatches = 2\n",
    "unequal": """
        [train]
        steps = 2
        microbatches = 1
        [split]
        layers = [6, 19, 5]
        [cloud]
        tensor_parallel = 3
        data_parallel = 2
        """,
}


def train(folder: Path, kind: str) -> tuple[list[float], float]:
    """Each step's loss, and the export's held-out loss as `transformers` measures it."""
    run = folder / kind.replace(" ", "-")
    job = folder / f"{run.name}.toml"
    job.write_text(
        f"""{SITES[kind]}
        [model]
        path = "{os.environ["HAIRPIN_MODEL"]}"
        [data]
        train = "{folder}/train.jsonl"
        sequence_length = 96
        [optimizer]
        learning_rate = 3e-4
        clip_norm = 1.0
        [output]
        directory = "{run}"
        """
    )
    binaries.run("hairpin", "train", job)
    if kind == "unequal":
        run = run / "edge"
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    loss, _ = export_test.measured_by_transformers(run / "export", folder / "eval.jsonl")
    return [record["loss"] for record in records], loss


class Unequal(unittest.TestCase):
    def test_smollm2(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            export_test.write_samples(folder / "train.jsonl", range(100, 140))
            export_test.write_samples(folder / "eval.jsonl", range(8))
            want, want_after = train(folder, "one rank")
            got, got_after = train(folder, "unequal")
        print(f"losses {want} on one rank, {got} on unequal sites; after: {want_after}, {got_after}")
        self.assertEqual(len(got), 2)
        for ours, theirs in zip([*got, got_after], [*want, want_after]):
            self.assertLess(abs(ours - theirs) / theirs, TOLERANCE)
        self.assertLess(got[1], got[0])


if __name__ == "__main__":
    torch.set_num_threads(1)
    unittest.main()
