"""A peer that dies, falls silent or is stopped in the middle of a run: exit code 4, and soon."""

import json
import signal
import sys
import time
import unittest

from product import Job, ProductTest, Running, hairpin, wait_until

SOON = 10  # seconds from the peer's death to this side's end


class BadNight(ProductTest):
    def run_begun(self, **changes: object) -> tuple[Job, dict[str, Running]]:
        """Both sites, some steps into a run that would go on for hours."""
        link = {f"link.{key}": value for key, value in changes.items()}
        job = self.job({"train.steps": 100_000} | link)
        sites = {site: self.start(site, job.file) for site in ("cloud", "edge")}

        def begun() -> bool:
            ended = [site.err() for site in sites.values() if site.ended()]
            self.assertEqual(ended, [])
            return all(len(job.metrics(site)) >= 3 for site in sites)

        wait_until("three steps", begun)
        return job, sites

    def assert_ends_soon(self, site: Running, *words: str) -> None:
        begin = time.monotonic()
        ended = site.wait()
        self.assertLess(time.monotonic() - begin, SOON)
        error = self.assert_error(ended, 4, *words, "nothing of this run is committed")
        print(f"  {error}", file=sys.stderr)

    def assert_left_in_order(self, job: Job, log: str) -> None:
        """Steps that are whole, an egress log of which that can be said, no export."""
        self.assertFalse((job.output / "edge" / "export").exists())
        for site in "edge", "cloud":
            for line in (job.output / site / "metrics.jsonl").read_text().splitlines():
                json.loads(line)
        ended = hairpin("audit", "log", job.output / "edge" / "egress.jsonl")
        self.assertEqual(ended.code, 0, ended.err)
        self.assertIn(log, ended.out)

    def test_the_edge_is_killed(self):
        job, sites = self.run_begun()
        sites["edge"].process.kill()
        self.assert_ends_soon(sites["cloud"], "the edge")
        self.assert_left_in_order(job, "not closed")

    def test_the_cloud_is_killed(self):
        job, sites = self.run_begun()
        sites["cloud"].process.kill()
        self.assert_ends_soon(sites["edge"], "the cloud")
        self.assert_left_in_order(job, "closed: no frame is missing")

    def test_interrupt(self):
        for one, other in ("edge", "cloud"), ("cloud", "edge"):
            job, sites = self.run_begun()
            sites[one].process.send_signal(signal.SIGINT)
            self.assert_ends_soon(sites[other], f"the {one}")
            self.assertNotEqual(sites[one].wait().code, 0)
            self.assertFalse((job.output / "edge" / "export").exists())

    def test_silence(self):
        for one, other in ("edge", "cloud"), ("cloud", "edge"):
            _, sites = self.run_begun(peer_timeout=2.0)
            sites[one].process.send_signal(signal.SIGSTOP)
            self.assert_ends_soon(sites[other], "not a byte", f"the {one}", "2 s")
            sites[one].process.send_signal(signal.SIGCONT)
            self.assert_ends_soon(sites[one], f"the {other}")

    def test_no_cloud_at_all(self):
        job = self.job({"link.connect_timeout": 0.5})
        ended = hairpin("edge", job.file)
        words = "no cloud at 127.0.0.1", "0.5 s", "hairpin cloud", "link.address"
        self.assert_error(ended, 4, *words)
        self.assertFalse(job.output.exists())


if __name__ == "__main__":
    unittest.main()
