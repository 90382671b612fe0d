"""Two sites of different sizes, as their users launch them: two processes, one link."""

import unittest

from product import ProductTest

STEPS = 3
TOLERANCE = 1e-5  # relative, of a loss
SIZES = {
    "edge.tensor_parallel": 2,
    "edge.sequence_parallel": True,
    "cloud.tensor_parallel": 2,
    "cloud.data_parallel": 2,
    "cloud.zero": 1,
}


class Unequal(ProductTest):
    def run_two(self, job, edge_job=None):
        sites = self.start("cloud", job.file), self.start("edge", (edge_job or job).file)
        return [site.wait() for site in sites]

    def test_a_run_equals_one_rank(self):
        steps = {"train.steps": STEPS, "optimizer.clip_norm": 1.0, "output.trace": True}
        job = self.job({**steps, **SIZES})
        for ended in self.run_two(job):
            self.assertEqual(ended.code, 0, ended.err)
        one = self.job({**steps, "train.microbatches": 4}, without=("split", "edge", "cloud", "link"))
        self.run_well("train", one.file)

        edge, cloud, whole = job.metrics("edge"), job.metrics("cloud"), one.metrics()
        self.assertEqual(len(edge), STEPS)
        for ours, theirs, want in zip(edge, cloud, whole):
            self.assertLess(abs(ours["loss"] - want["loss"]) / want["loss"], TOLERANCE)
            self.assertEqual(ours["grad_norm"], theirs["grad_norm"])
            self.assertNotIn("loss", theirs)
            self.assertGreater(theirs["dp_bytes"], 0)
            self.assertNotIn("dp_bytes", ours)
        ranks = [rank["rank"].removeprefix("cloud rank pp 0, ") for rank in cloud[-1]["tensor_memory"]]
        self.assertEqual(ranks, ["dp 0, tp 0", "dp 0, tp 1", "dp 1, tp 0", "dp 1, tp 1"])
        for site in "edge", "cloud":
            self.assertTrue((job.output / site / "trace.json").exists(), site)
        self.run_well("audit", "log", job.output / "edge" / "egress.jsonl")
        export = job.output / "edge" / "export"
        self.run_well("eval", export, "--data", self.samples, "--sequence-length", 128)

    def test_codecs_cost_little_and_send_less(self):
        tolerances = {"bf16": 0.01, "int8": 0.02, "int4": 0.1}
        runs = {}
        for codec in "fp32", *tolerances:
            job = self.job({"train.steps": STEPS, "link.codec": codec, **SIZES})
            self.run_well("train", job.file)
            runs[codec] = job.metrics("edge")
        sent = [runs[codec][-1]["link_bytes_up"] for codec in runs]
        self.assertEqual(sent, sorted(sent, reverse=True))
        for codec, tolerance in tolerances.items():
            for ours, want in zip(runs[codec], runs["fp32"]):
                self.assertLess(abs(ours["loss"] - want["loss"]) / want["loss"], tolerance, codec)
            self.assertNotEqual(runs[codec][-1]["loss"], runs["fp32"][-1]["loss"], codec)

    def test_connections_must_be_as_many_on_both_sites(self):
        cloud_job = self.job({"link.connections": 3})
        address = f"127.0.0.1:{cloud_job.port}"
        edge_job = self.job({"link.connections": 2, "link.address": address})
        for ended in self.run_two(cloud_job, edge_job):
            self.assert_error(ended, 3, "2", "3", "connections")

    def test_other_launches_are_named_at_the_handshake(self):
        others = {"cloud.tensor_parallel": 1, "cloud.data_parallel": 1, "edge.data_parallel": 2}
        for key, value in others.items():
            cloud_job = self.job(SIZES)
            edge_job = self.job({**SIZES, key: value, "link.address": f"127.0.0.1:{cloud_job.port}"})
            for ended in self.run_two(cloud_job, edge_job):
                self.assert_error(ended, 3, key)

    def test_sizes_that_do_not_fit_the_model(self):
        for command in "edge", "cloud":
            self.refuse(command, self.job({"edge.tensor_parallel": 4}), "edge.tensor_parallel = 4",
                        "2 attention heads", "give 2")  # fmt: skip
        alone = {"site.pipeline": [1, 1]}, ("split", "edge", "cloud", "link")
        self.refuse("train", self.job(*alone), "[site] pipeline", "sum is 2", "4 decoder layers")


if __name__ == "__main__":
    unittest.main()
