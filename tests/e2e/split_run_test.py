"""A whole run across two processes over TLS, and the same job in one process and on one site."""

import json
import unittest
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from product import QUESTIONS, ProductTest, Running, free_port, hairpin

FROM_THE_EDGE = {
    "hello", "contract", "manifest", "tensor", "times", "scalars", "weights-request", "heartbeat",
    "goodbye",
}  # fmt: skip
CLOUD_FILES = {"resolved.toml", "metrics.jsonl", "schedule.jsonl"}
EDGE_FILES = CLOUD_FILES | {"egress.jsonl", "export"}
STEPS = 4


def well(*arguments: object) -> str:
    ended = hairpin(*arguments)
    assert ended.code == 0, ended.err
    return ended.out


def files(directory: Path) -> list[Path]:
    return [file for file in directory.rglob("*") if file.is_file()]


class SplitRun(ProductTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        keys, cls.halves = cls.folder / "new-keys", cls.folder / "halves"
        well("keys", keys)
        split = "convert", "split", cls.model, "--layers", "1,2,1"
        well(*split, "--edge", cls.halves / "edge", "--cloud", cls.halves / "cloud")
        same = {
            "model.path": str(cls.halves / "edge"),
            "train.steps": STEPS,
            "train.microbatches": 3,
            "optimizer.clip_norm": 1.0,
            "edge.keys": str(keys / "edge"),
            "cloud.keys": str(keys / "cloud"),
            "cloud.model": str(cls.halves / "cloud"),
        }
        cls.two, cls.one = cls.job(same), cls.job(same)
        sites = [Running(site, cls.two.file) for site in ("cloud", "edge")]
        for site in sites:
            cls.addClassCleanup(site.stop)
        cls.cloud, cls.edge = (site.wait() for site in sites)
        well("train", cls.one.file)
        of_any = {key: same[key] for key in same if key.startswith(("train.", "optimizer."))}
        cls.whole = cls.job(of_any, without=("split", "edge", "cloud", "link"))
        well("train", cls.whole.file)

    def test_both_sites_end_well(self):
        self.assertEqual(self.cloud.code, 0, self.cloud.err)
        self.assertEqual(self.edge.code, 0, self.edge.err)
        self.assertIn(f"step {STEPS}/{STEPS}", self.edge.err)
        export = self.two.output / "edge" / "export"
        self.assertIn(str(export), self.edge.err)
        written = {
            site: {file.name for file in (self.two.output / site).iterdir()}
            for site in ("edge", "cloud")
        }
        self.assertEqual(written, {"edge": EDGE_FILES, "cloud": CLOUD_FILES})

    def test_losses_are_the_unsplit_runs_and_stay_at_the_edge(self):
        edge = self.two.metrics("edge")
        self.assertEqual([line["step"] for line in edge], list(range(1, STEPS + 1)))
        losses = [line["loss"] for line in edge]
        self.assertLess(losses[-1], losses[0])
        for other in self.one.metrics("edge"), self.whole.metrics():
            self.assertEqual([line["loss"] for line in other], losses)
            norms = [[line["grad_norm"] for line in lines] for lines in (edge, other)]
            self.assertEqual(*norms)
        cloud = self.two.metrics("cloud")
        self.assertEqual([line["step"] for line in cloud], list(range(1, STEPS + 1)))
        self.assertFalse([line for line in cloud if "loss" in line])
        for name in "link_bytes_up", "link_bytes_down", "grad_norm":
            self.assertTrue(all(line[name] > 0 for line in cloud), name)

    def test_the_links_accounts(self):
        for site in "edge", "cloud":
            for line in self.two.metrics(site):
                for direction in "link_up", "link_down":
                    use = line[direction]
                    self.assertTrue(all(seconds >= 0 for seconds in use.values()), use)
                    self.assertGreater(use["transfer_seconds"] + use["queueing_seconds"], 0)
        self.assertNotIn("link_up", self.whole.metrics()[0])

    def test_what_the_steps_followed(self):
        followed = {
            site: (self.two.output / site / "schedule.jsonl").read_text().splitlines()
            for site in ("edge", "cloud")
        }
        self.assertEqual(followed["edge"], followed["cloud"])
        first = json.loads(followed["edge"][0])
        self.assertEqual((first["from_step"], first["microbatches"]), (1, 3))
        self.assertEqual(len(first["ranks"]), 2)

    def test_the_cloud_has_no_text_and_no_loss(self):
        losses = {str(line["loss"])[:8] for line in self.two.metrics("edge")}
        secrets = {*QUESTIONS, *losses, "<|im_start|>"}
        held = [*files(self.halves / "cloud"), *files(self.two.output / "cloud")]
        for where, content in [
            ("what it said", (self.cloud.out + self.cloud.err).encode()),
            *((str(file), file.read_bytes()) for file in held),
        ]:
            found = [secret for secret in secrets if secret.encode() in content]
            self.assertEqual(found, [], where)
        at_edge = (self.two.output / "edge" / "metrics.jsonl").read_text()
        self.assertTrue(all(loss in at_edge for loss in losses))  # they would be found
        names = {file.name for file in files(self.halves / "cloud")}
        self.assertEqual(names & {"tokenizer.json", "chat_template.jinja"}, set())

    def test_the_export_is_the_unsplit_runs(self):
        export = self.two.output / "edge" / "export"
        for other in self.one.output / "edge" / "export", self.whole.output / "export":
            self.assertEqual({f.name for f in files(export)}, {f.name for f in files(other)})
            for file in files(export):
                self.assertEqual(file.read_bytes(), (other / file.name).read_bytes(), file.name)
        before, after = (
            (where / "model.safetensors").read_bytes() for where in (self.model, export)
        )
        self.assertEqual(len(before), len(after))
        self.assertNotEqual(before, after)

    def test_the_egress_log(self):
        log = self.two.output / "edge" / "egress.jsonl"
        self.assertIn("tensor", well("audit", "log", log))
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        self.assertEqual((lines[0]["type"], lines[-1]["type"]), ("open", "close"))
        frames = lines[1:-1]
        types = {line["type"] for line in frames}
        self.assertLessEqual(types, FROM_THE_EDGE)
        self.assertLessEqual({"manifest", "tensor", "times", "scalars"}, types)
        tensors = [line for line in frames if line["type"] == "tensor"]
        self.assertEqual(len(tensors), STEPS * 3 * 2)  # activations up, gradients down
        up = sum(line["link_bytes_up"] for line in self.two.metrics("edge"))
        self.assertLessEqual(up, sum(line["bytes"] for line in frames))
        edited = self.folder / "edited.jsonl"
        edited.write_text(log.read_text().replace('"type":"manifest"', '"type":"goodbye"', 1))
        self.assert_error(hairpin("audit", "log", edited), 2, f"{edited}:", "edited")

    def test_halves_join_to_the_model(self):
        joined = self.folder / "joined"
        well("convert", "merge", self.halves / "edge", self.halves / "cloud", "--output", joined)
        for name in "model.safetensors", "config.json", "tokenizer.json":
            self.assertEqual((joined / name).read_bytes(), (self.model / name).read_bytes(), name)

    def test_transformers_loads_the_export(self):
        export = self.two.output / "edge" / "export"
        model, report = AutoModelForCausalLM.from_pretrained(
            export, dtype=torch.float32, output_loading_info=True
        )
        for problem in "missing_keys", "unexpected_keys", "mismatched_keys":
            self.assertFalse(report[problem], problem)
        tokenizer = AutoTokenizer.from_pretrained(export)
        ids = tokenizer("gout and fever", return_tensors="pt").input_ids
        self.assertTrue(torch.isfinite(model(ids).logits).all())

    def test_the_export_can_be_used(self):
        export = self.two.output / "edge" / "export"
        ours = {}
        evaluate = "eval", "--data", self.samples, "--json"
        for name, model in ("before", self.model), ("after", export):
            ours[name] = json.loads(well(*evaluate, model, "--sequence-length", 128))
        self.assertLess(ours["after"]["loss"], ours["before"]["loss"])
        too_much = hairpin(*evaluate, export, "--sequence-length", 257)
        self.assert_error(too_much, 2, "257", "max_position_embeddings 256", "--sequence-length")
        prompts = "--prompt", "gout", "--prompt", "cough"
        answers = well("generate", export, *prompts, "--max-tokens", 4, "--json").splitlines()
        self.assertEqual(len(answers), 2)

    def test_resolved_job_runs_again(self):
        again = self.folder / "again"
        resolved = self.two.output / "edge" / "resolved.toml"
        changes = {"output.directory": again, "link.address": f"127.0.0.1:{free_port()}"}
        overrides = [f"--set={key}={value}" for key, value in changes.items()]
        well("train", resolved, *overrides)
        name = "edge/export/model.safetensors"
        self.assertEqual((again / name).read_bytes(), (self.two.output / name).read_bytes())


if __name__ == "__main__":
    torch.set_num_threads(1)
    unittest.main()
