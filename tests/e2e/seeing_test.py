"""A traced run, and `hairpin schedule report` of it."""

import json
import unittest
from collections import Counter
from pathlib import Path

from product import Job, ProductTest, Running, hairpin

STEPS, MICROBATCHES = 3, 4
TRACED = {"output.trace": True, "train.steps": STEPS, "train.microbatches": MICROBATCHES}
TRACED |= {"schedule.kind": "hairpin-1f1b"}


def ops_of(run: Path) -> list[list[str]]:
    return json.loads((run / "schedule.jsonl").read_text().splitlines()[0])["ranks"]


def spans(trace: Path) -> list[dict]:
    return [e for e in json.loads(trace.read_text())["traceEvents"] if e["ph"] == "X"]


class Seeing(ProductTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.two = cls.job(TRACED)
        sites = [Running(site, cls.two.file) for site in ("cloud", "edge")]
        for site in sites:
            cls.addClassCleanup(site.stop)
        for ended in [site.wait() for site in sites]:
            assert ended.code == 0, ended.err

    def report(self, run: Path, *arguments: object) -> dict:
        return json.loads(self.run_well("schedule", "report", run, "--json", *arguments).out)

    def check_report(self, run: Path, job: Job, lists: list[list[str]]):
        """Both processes of the written trace have every op of the step once."""
        trace = self.folder / "both.json"
        for step in range(1, STEPS + 1):
            report = self.report(run, "--step", step, "--trace", trace)
            self.assertEqual((report["step"], report["steps"]), (step, STEPS))
            self.assertEqual(report["missing_traces"], [])
            for name in "measured_makespan", "measured_step", "simulated_makespan":
                self.assertGreater(report[name], 0, name)
            self.assertGreaterEqual(report["simulated_step"], report["lower_bound"])
            self.assertEqual(len(report["ranks"]), len(lists))
            for rank in report["ranks"]:
                self.assertTrue(0 < rank["busy_measured"] <= 1, rank)
            for process in 0, 1:
                ops = [s for s in spans(trace) if s["pid"] == process and s["cat"] == "op"]
                by_rank = [[s["name"] for s in ops if s["tid"] == r] for r in range(len(lists))]
                self.assertEqual(by_rank, lists)

    def test_a_split_run(self):
        lists = ops_of(self.two.output / "edge")
        self.assertEqual(sum(map(len, lists)), 6 * MICROBATCHES)
        self.check_report(self.two.output, self.two, lists)
        self.assertEqual(self.report(self.two.output)["step"], STEPS)

    def test_text_and_drawing(self):
        drawing = self.folder / "both.svg"
        text = self.run_well("schedule", "report", self.two.output, "--svg", drawing).out
        for words in "measured", "simulated", "critical path:", "link down", " waits ":
            self.assertIn(words, text)
        drawn = drawing.read_text()
        for op in sum(ops_of(self.two.output / "edge"), []):
            self.assertGreaterEqual(drawn.count(f"<title>{op}: "), 2, op)

    def test_the_links_tracks(self):
        """Each site's trace has each crossing of each step once, the peer's among the received."""
        forwards = [f"{kind}{i}" for kind in ("FS", "BS") for i in range(1, MICROBATCHES + 1)]
        backwards = [f"{kind}{i}" for kind in ("F", "B") for i in range(1, MICROBATCHES + 1)]
        for site, sent, received in ("edge", forwards, backwards), ("cloud", backwards, forwards):
            file = self.two.output / site / "trace.json"
            events = json.loads(file.read_text())["traceEvents"]
            names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
            for thread, ops in ("link sent", sent), ("link received", received):
                found = Counter(
                    (span["name"], span["args"]["step"])
                    for span in spans(file)
                    if span["cat"] == "link" and names[span["tid"]].startswith(thread)
                )
                want = Counter((op, step) for op in ops for step in range(1, STEPS + 1))
                self.assertEqual(found, want, f"{site}, {thread}")

    def test_both_sites_in_one_process(self):
        job = self.job(TRACED)
        self.run_well("train", job.file)
        self.check_report(job.output, job, ops_of(job.output / "edge"))

    def test_one_site(self):
        job = self.job(
            {**TRACED, "schedule.kind": "gpipe"}, without=("split", "edge", "cloud", "link")
        )
        self.run_well("train", job.file)
        self.check_report(job.output, job, ops_of(job.output))

    def test_without_a_trace(self):
        job = self.job({"train.steps": 1})
        self.run_well("train", job.file)
        ended = hairpin("schedule", "report", job.output)
        self.assert_error(ended, 2, "trace.json", "output.trace = true")
        ended = hairpin("schedule", "report", job.output / "export")
        self.assert_error(ended, 2, "no schedule.jsonl")


if __name__ == "__main__":
    unittest.main()
