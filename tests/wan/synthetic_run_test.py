"""A synthetic run as two programs over an emulated network with jitter. Untimed but for what can't be
otherwise: nothing is faster than its simulation for the least latency. Figures are for
benchmarks/synthetic_wan.py."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from wan import Wan

PATIENCE = 120  # seconds


class SyntheticRunTest(unittest.TestCase):
    def run_sites(self, wan: Wan, *arguments: str) -> dict[str, list[dict]]:
        """The lines of both sites, by event."""
        binary = os.environ["HAIRPIN_synthetic_run"]
        with tempfile.TemporaryDirectory() as folder:
            keys = Path(folder) / "keys"
            subprocess.run([binary, "--write-keys", keys], check=True)
            sites = [
                wan.popen(
                    site,
                    [binary, "--role", site, "--host", wan.cloud, "--keys", keys / site, *arguments],
                    stdout=subprocess.PIPE,
                    text=True,
                )
                for site in ("cloud", "edge")
            ]
            lines: dict[str, list[dict]] = {}
            for site in sites:
                out, _ = site.communicate(timeout=PATIENCE)
                self.assertEqual(site.returncode, 0)
                for line in map(json.loads, out.splitlines()):
                    lines.setdefault(line["event"], []).append(line)
            return lines

    def test_split_backward_over_a_bad_path(self):
        options = ["--pp", "3", "--microbatches", "6", "--unit-us", "1000", "--latency-us", "4000"]
        with Wan(delay_ms=4, jitter_pct=100, loss_pct=1) as wan:
            lines = self.run_sites(wan, "--split-backward", "--steps", "3", *options)
        simulated = lines["plan"][0]["simulated_step_seconds"]
        self.assertEqual([step["step"] for step in lines["step"]], [1, 2, 3])
        for step in lines["step"]:
            self.assertGreaterEqual(step["seconds"], simulated)
        self.assertEqual(sorted(stage["stage"] for stage in lines["stage"]), [0, 1, 2, 3])
        for stage in lines["stage"]:
            self.assertEqual(stage["peak_in_flight"], stage["scheduled_peak_in_flight"])
            self.assertEqual(stage["peak_pending_weights"], stage["scheduled_peak_pending_weights"])
        self.assertGreater(max(stage["peak_pending_weights"] for stage in lines["stage"]), 0)


if __name__ == "__main__":
    unittest.main()
