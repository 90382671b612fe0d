"""The product over an emulated network: bad weather changes no bit, a way that grows shorter is agreed on,
a cut ends both sides with 4."""

import json
import re
import subprocess
import tempfile
import unittest

from product import PATIENCE, Job, ProductTest, Running, binary, wait_until
from wan import Wan


class RunningAt(Running):
    """A command of the product at one site of an emulated network."""

    def __init__(self, wan: Wan, site: str, *arguments: object):
        self.files = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        out, err = self.files
        command = [binary("hairpin"), *arguments]
        self.process = wan.popen(site, command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)


class RunTest(ProductTest):
    def wan(self, **options: float) -> Wan:
        wan = Wan(**options)
        self.addCleanup(wan.close)
        return wan

    def job_over(self, wan: Wan, **changes: object) -> Job:
        return self.job({"link.address": f"{wan.cloud}:7461", **changes})

    def start_both(self, wan: Wan, job: Job) -> list[RunningAt]:
        sites = [RunningAt(wan, site, site, job.file) for site in ("cloud", "edge")]
        for site in sites:
            self.addCleanup(site.stop)
        return sites

    def test_loss_and_jitter_change_no_bit(self):
        steps = {"train.steps": 4, "train.microbatches": 3}
        with self.wan(delay_ms=5, jitter_ms=10, loss_pct=1, rate_mbit=20, mtu=1500, reorder=1) as wan:
            job = self.job_over(wan, **steps)
            for site in self.start_both(wan, job):
                ended = site.wait()
                self.assertEqual(ended.code, 0, ended.err)
            counts = wan.close()
        self.assertGreater(counts["up"]["lost"] + counts["down"]["lost"], 0)
        still = self.job(steps)
        self.run_well("train", still.file)
        losses, expected = (
            [line["loss"] for line in each.metrics("edge")] for each in (job, still)
        )
        self.assertEqual(len(losses), 4)
        self.assertEqual(losses, expected)
        name = "edge/export/model.safetensors"
        self.assertEqual((job.output / name).read_bytes(), (still.output / name).read_bytes())

    def test_another_latency_is_agreed_on_and_changes_no_bit(self):
        steady = {"train.microbatches": 4, "optimizer.decay": "constant"}
        wan = self.wan(delay_ms=50)
        job = self.job_over(wan, **{**steady, "train.steps": 100000})
        sites = self.start_both(wan, job)

        def agreed(site: str) -> list[dict]:
            file = job.output / site / "schedule.jsonl"
            text = file.read_text() if file.exists() else ""
            return [json.loads(line) for line in text.rpartition("\n")[0].splitlines()]

        def last_latency(site: str) -> int:
            lines = agreed(site)
            return lines[-1].get("times", {}).get("latency", 0) if lines else 0

        def both_agreed(least: int, most: int) -> bool:
            return any(site.ended() for site in sites) or all(
                least <= last_latency(site) < most for site in ("edge", "cloud")
            )

        # Microseconds: half of a round trip of 100 ms, later of 4 ms.
        wait_until("a first choice", lambda: both_agreed(50000, 10**9))
        wan.set(delay_ms=2)
        wait_until("another choice", lambda: both_agreed(1, 50000))
        for site in sites:
            self.assertFalse(site.ended(), site.err())
            site.process.kill()
            site.process.wait()

        edge, cloud = agreed("edge"), agreed("cloud")
        common = min(len(edge), len(cloud))
        self.assertEqual(edge[:common], cloud[:common])
        logged = [re.findall(r"from step \d+ on: .+\n", site.err()) for site in sites]
        common = min(map(len, logged))
        self.assertGreaterEqual(common, 2)
        self.assertEqual(logged[0][:common], logged[1][:common])

        losses = [line["loss"] for line in job.metrics("edge")]
        still = self.job({**steady, "train.steps": len(losses)})
        self.run_well("train", still.file)
        self.assertEqual(losses, [line["loss"] for line in still.metrics("edge")])

    def test_a_cut_ends_both_sides(self):
        wan = self.wan(delay_ms=5)
        job = self.job_over(wan, **{"train.steps": 100000, "link.peer_timeout": 3})
        sites = self.start_both(wan, job)
        wait_until("a second step", lambda: len(job.metrics("edge")) > 1 or sites[1].ended())
        wan.set(loss_pct=100)
        for site, peer in zip(sites, ("the edge", "the cloud")):
            self.assert_error(site.wait(PATIENCE), 4, peer)


if __name__ == "__main__":
    unittest.main()
