"""Logits of a packed microbatch equal those of `transformers`, segment by segment."""

import json
import random
import tempfile
import unittest
from pathlib import Path

import torch
from safetensors.torch import load_file

import binaries
import twin

TOLERANCE = 1e-5  # of the largest |logit|


def probe_logits(model: Path, batch: dict) -> torch.Tensor:
    folder = model.parent
    (folder / "batch.json").write_text(json.dumps(batch))
    output = folder / "logits.safetensors"
    binaries.run("parity_probe", "logits", model, folder / "batch.json", output)
    return load_file(output)["logits"]


class Logits(unittest.TestCase):
    def check(self, kind: str, lengths: list[int]) -> None:
        with tempfile.TemporaryDirectory() as folder, torch.no_grad():
            model = twin.make_model(kind, Path(folder) / "model")
            batch = twin.make_batch(lengths, random.Random(3))
            expected = twin.logits(model, batch)
            actual = probe_logits(Path(folder) / "model", batch)
        self.assertEqual(actual.shape, expected.shape)
        self.assertEqual(actual.dtype, torch.float32)
        error = (actual - expected).abs().max() / expected.abs().max()
        print(f"{kind} {lengths}: {error:.1e} of the largest |logit|")
        self.assertLessEqual(error, TOLERANCE)

    def test_tied_llama(self):
        self.check("tied Llama", [300])

    def test_tied_llama_packed(self):
        self.check("tied Llama", [17, 1, 130, 64])

    def test_untied_qwen2(self):
        self.check("untied Qwen2", [300])

    def test_untied_qwen2_packed(self):
        self.check("untied Qwen2", [17, 1, 130, 64])


if __name__ == "__main__":
    torch.set_num_threads(1)
    unittest.main()
