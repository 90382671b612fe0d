"""Bad jobs, models, keys and places: exit code 2, one sentence, nothing written."""

import json
import shutil
import socket
import struct
import subprocess
import unittest
from pathlib import Path

from product import ProductTest, binary, hairpin


class Jobs(ProductTest):
    def test_unknown_keys_name_the_nearest(self):
        job = self.job({"train.stepz": 3})
        self.refuse("train", job, f"{job.file}:", "stepz", '"steps"')
        self.refuse("train", self.job({"optimiser.clip_norm": 1.0}), "optimiser", "optimizer")
        self.refuse("train", self.job({"train.flurbel": 3}), "flurbel")

    def test_types_and_ranges(self):
        self.refuse("train", self.job({"train.steps": "ten"}), "steps", "ten", "whole number")
        self.refuse("train", self.job({"split.layers": "1,2,1"}), "layers", "1,2,1")
        self.refuse("train", self.job({"train.microbatches": 0}), "microbatches = 0", "1")
        self.refuse("train", self.job({"optimizer.learning_rate": -1.0}), "learning_rate")
        self.refuse("train", self.job({"optimizer.kind": "adam"}), "adam", "adamw", "sgd")
        self.refuse("train", self.job({"data.on_bad_sample": "ignore"}), "ignore", "skip")

    def test_no_toml(self):
        job = self.job()
        job.file.write_text("[model\npath = 3\n")
        self.refuse("train", job, f"{job.file}:1")

    def test_missing_keys_and_tables(self):
        self.refuse("train", self.job({"model.path": None}), "[model] path", "required")
        self.refuse("train", self.job({"data.train": None}), "[data] train", "required")
        one_site = self.job(without=("split", "edge", "cloud", "link"))
        self.refuse("edge", one_site, "[split]", "hairpin train")
        self.refuse("train", self.job(without=("split",)), "[split]")

    def test_overrides_are_named_as_given(self):
        job = self.job()
        for override, words in (
            ("train.stepz=3", ("train.stepz=3", '"steps"')),
            ("train.steps=x", ("train.steps=x", "whole number")),
            ("train", ("train", "=")),
        ):
            ended = hairpin("train", job.file, "--set", override)
            self.assert_error(ended, 2, *words)
        self.assertFalse(job.output.exists())

    def test_not_built_yet(self):
        for key, value in (
            ("edge.context_parallel", 2),
            ("cloud.expert_parallel", 2),
            ("cloud.zero", 2),
            ("cloud.recompute", "full"),
            ("train.precision", "bf16"),
            ("schedule.kind", "interleaved"),
            ("data.form", "alpaca"),
            ("adapt.rank", 8),
        ):
            with self.subTest(key=key):
                named = key.split(".")[1] if not key.startswith("adapt") else "adapt"
                self.refuse("train", self.job({key: value}), named, "not built yet")

    def test_parallelism_that_contradicts_itself(self):
        self.refuse("train", self.job({"edge.data_parallel": 99}), "data_parallel = 99", "at most")
        alone = self.job({"cloud.sequence_parallel": True})
        self.refuse("train", alone, "sequence_parallel = true", "tensor_parallel is 1")

    def test_a_cap_that_a_kind_does_not_keep(self):
        capped = {"schedule.kind": "gpipe", "schedule.max_in_flight": 2, "train.microbatches": 4}
        self.refuse("train", self.job(capped), "max_in_flight = 2", "FS3", "raise it", "adaptive")

    def test_missing_files(self):
        absent = self.folder / "absent"
        ended = hairpin("train", absent)
        self.assert_error(ended, 2, str(absent), "No such file")
        self.refuse("train", self.job({"model.path": str(absent)}), str(absent), "No such file")
        self.refuse("train", self.job({"data.train": str(absent)}), str(absent), "No such file")
        self.refuse("train", self.job({"data.train": str(self.model)}), str(self.model), "file")

    def test_cuts(self):
        job = self.job({"split.layers": [1, 1, 1]})
        self.refuse("train", job, f"{job.file}: ", "[1, 1, 1]", "sum is 3", "4 decoder layers")
        self.refuse("train", self.job({"split.layers": [1, 3]}), "[1, 3]", "three")
        for layers, end in ([0, 3, 1], "head"), ([1, 3, 0], "tail"):
            job = self.job({"split.layers": layers})
            self.refuse("train", job, str(layers), end, "allow_plaintext_cut = true")

    def test_a_plaintext_cut_can_be_allowed(self):
        job = self.job({"split.layers": [0, 4, 0], "split.allow_plaintext_cut": True})
        self.run_well("train", job.file)
        self.assertTrue((job.output / "edge" / "export" / "config.json").exists())

    def test_sequence_length_beyond_the_model(self):
        job = self.job({"data.sequence_length": 257})
        self.refuse("train", job, "sequence_length = 257", "max_position_embeddings", "256")

    def test_no_plaintext_but_on_this_machine(self):
        job = self.job({"link.insecure_loopback": True, "link.address": "0.0.0.0:7461"})
        for command in "edge", "cloud":
            self.refuse(command, job, "insecure_loopback", "127.0.0.1", "0.0.0.0:7461")

    def test_output_in_use(self):
        for command, site in ("train", "edge"), ("edge", "edge"), ("cloud", "cloud"):
            job = self.job()
            (job.output / site).mkdir(parents=True)
            (job.output / site / "mine.txt").write_text("mine")
            ended = hairpin(command, job.file)
            self.assert_error(ended, 2, "output.directory", str(job.output / site), "in use")
            self.assertEqual([f.name for f in job.output.rglob("*.*")], ["mine.txt"])
        job = self.job()
        job.output.write_text("mine")
        self.assert_error(hairpin("train", job.file), 2, str(job.output), "directory")
        self.assertEqual(job.output.read_text(), "mine")


class Places(ProductTest):
    def test_port_taken(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            address = "127.0.0.1:%d" % other.getsockname()[1]
            self.refuse("cloud", self.job({"link.address": address}), address, "taken")

    def test_own_keys(self):
        for command in "edge", "cloud":
            good = self.keys / "good" / command
            key = f"{command}.keys"
            job = self.job({key: None})
            self.refuse(command, job, f"{job.file}: [{command}] keys", "missing", "hairpin keys")
            absent = self.folder / "no-keys"
            self.refuse(command, self.job({key: str(absent)}), str(absent), "hairpin keys")
            for name in "cert.pem", "key.pem", "ca.pem":
                broken = self.folder / f"{command}-{name}"
                shutil.copytree(good, broken)
                (broken / name).unlink()
                self.refuse(command, self.job({key: str(broken)}), str(broken / name))
                (broken / name).write_text("no PEM\n")
                self.refuse(command, self.job({key: str(broken)}), str(broken / name))
            mixed = self.folder / f"{command}-mixed"
            shutil.copytree(good, mixed)
            shutil.copy(self.keys / "expired" / command / "key.pem", mixed)
            self.refuse(command, self.job({key: str(mixed)}), str(mixed / "key.pem"))


class Weights:
    """A safetensors file taken apart: whatever a test breaks in it is written as it stands."""

    def __init__(self, directory: Path):
        self.file = directory / "model.safetensors"
        content = self.file.read_bytes()
        (size,) = struct.unpack("<Q", content[:8])
        self.header, self.data = json.loads(content[8 : 8 + size]), content[8 + size :]

    def write(self) -> None:
        header = json.dumps(self.header).encode()
        self.file.write_bytes(struct.pack("<Q", len(header)) + header + self.data)


LAYER = "model.layers.1.mlp.up_proj.weight"


class Models(ProductTest):
    def broken(self, *words: str, command: str = "train"):
        self.refuse(command, self.job({"model.path": str(self.copy)}), str(self.copy), *words)

    def setUp(self):
        self.copy = self.folder / "broken"
        shutil.rmtree(self.copy, ignore_errors=True)
        shutil.copytree(self.model, self.copy)

    def edit(self, name: str, **changes: object) -> None:
        file = self.copy / name
        file.write_text(json.dumps(json.loads(file.read_text()) | changes))

    def test_configuration(self):
        self.edit("config.json", model_type="mamba", architectures=["MambaForCausalLM"])
        self.broken("config.json", "mamba", "llama")
        shutil.copy(self.model / "config.json", self.copy)
        self.edit("config.json", hidden_act="gelu")
        self.broken("config.json", "hidden_act", "gelu", "silu")
        shutil.copy(self.model / "config.json", self.copy)
        self.edit("config.json", attention_sink=True)
        self.broken("config.json", "attention_sink")
        (self.copy / "config.json").write_text("{")
        self.broken("config.json")
        (self.copy / "config.json").unlink()
        self.broken("config.json", "No such file")

    def test_weights_that_are_no_safetensors(self):
        weights = Weights(self.copy)
        content = weights.file.read_bytes()
        for size in 3, 100, len(content) - 1:
            weights.file.write_bytes(content[:size])
            self.broken("model.safetensors")
        weights.file.write_bytes(struct.pack("<Q", 1 << 60) + content[8:])
        self.broken("model.safetensors", "header")
        weights.file.unlink()
        self.broken("model.safetensors")

    def test_overlapping_tensors(self):
        weights = Weights(self.copy)
        _, second, *_ = sorted(
            (v for k, v in weights.header.items() if k != "__metadata__"),
            key=lambda tensor: tensor["data_offsets"],
        )
        begin, end = second["data_offsets"]
        second["data_offsets"] = [begin - 4, end - 4]
        weights.write()
        self.broken("model.safetensors", "overlap")

    def test_tensors_that_are_not_the_models(self):
        weights = Weights(self.copy)
        weights.header["model.layers.1.mlp.sideways.weight"] = weights.header.pop(LAYER)
        weights.write()
        self.broken(LAYER, "lack")
        weights = Weights(self.model)
        weights.file = self.copy / "model.safetensors"
        weights.header["extra"] = {
            "dtype": "F32",
            "shape": [1],
            "data_offsets": [len(weights.data), len(weights.data) + 4],
        }
        weights.data += b"\0\0\0\0"
        weights.write()
        self.broken('"extra"')

    def test_shape_and_dtype(self):
        weights = Weights(self.copy)
        entry = weights.header[LAYER]
        entry["shape"].reverse()
        weights.write()
        self.broken(LAYER, "shape", "[64, 32]", "[32, 64]")
        entry["shape"].reverse()
        entry["dtype"] = "I32"
        weights.write()
        self.broken(LAYER, "I32", "F32, BF16 and F16")

    def test_tokenizer(self):
        tokenizer = json.loads((self.model / "tokenizer.json").read_text())
        self.edit("tokenizer.json", model=tokenizer["model"] | {"type": "Unigram"})
        self.broken("tokenizer.json", "Unigram", "BPE")
        self.edit("tokenizer.json", model=tokenizer["model"], normalizer={"type": "NFC"})
        self.broken("tokenizer.json", "normalizer")
        (self.copy / "tokenizer.json").unlink()
        self.broken("tokenizer.json", "No such file")

    def test_chat_template(self):
        (self.copy / "chat_template.jinja").write_text("{{ messages[0].content | upper }}")
        self.broken("chat template")
        (self.copy / "chat_template.jinja").unlink()
        self.broken("chat template")


class Halves(ProductTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.edge_half, cls.cloud_half = cls.folder / "edge-half", cls.folder / "cloud-half"
        split = ["convert", "split", cls.model, "--layers", "1,2,1"]
        ended = hairpin(*split, "--edge", cls.edge_half, "--cloud", cls.cloud_half)
        assert ended.code == 0, ended.err

    def halves(self, **changes: object):
        keys = {"edge.model": str(self.edge_half), "cloud.model": str(self.cloud_half)}
        return self.job(keys | {key.replace("__", "."): value for key, value in changes.items()})

    def test_other_cuts(self):
        for command, half in ("edge", self.edge_half), ("cloud", self.cloud_half):
            job = self.halves(split__layers=[2, 1, 1])
            self.refuse(command, job, str(half), "[1, 2, 1]", "[2, 1, 1]", "split the model again")

    def test_the_other_sites_half_and_half_a_model(self):
        job = self.halves(edge__model=str(self.cloud_half))
        self.refuse("edge", job, str(self.cloud_half), "cloud's half", "edge's half")
        job = self.job({"model.path": str(self.edge_half)}, ("split", "edge", "cloud", "link"))
        self.refuse("train", job, str(self.edge_half), "edge's half", "convert merge")

    def test_another_source(self):
        changed = self.folder / "changed-config"
        shutil.copytree(self.edge_half, changed)
        file = changed / "config.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | {"rms_norm_eps": 0.5}))
        job = self.halves(edge__model=str(changed))
        self.refuse("edge", job, str(changed), "config.json", "split it again")

    def test_weights_changed_after_the_split(self):
        changed = self.folder / "changed-weights"
        shutil.copytree(self.edge_half, changed)
        weights = Weights(changed)
        weights.data = bytes([weights.data[0] ^ 1]) + weights.data[1:]
        weights.write()
        job = self.halves(edge__model=str(changed))
        self.refuse("train", job, str(changed), "SHA-256", "split the model again")

    def test_split_refuses_and_writes_nothing(self):
        edge, cloud = self.folder / "new-edge", self.folder / "new-cloud"
        for layers, source, words in (
            ("1,1,1", self.model, ("[1, 1, 1]", "4")),
            ("0,3,1", self.model, ("head", "allow_plaintext_cut")),
            ("1,2,1", self.folder / "absent", ("absent", "No such file")),
            ("1,2,1", self.edge_half, ("edge's half", "convert merge")),
        ):
            arguments = ["convert", "split", source, "--layers", layers]
            ended = hairpin(*arguments, "--edge", edge, "--cloud", cloud)
            self.assert_error(ended, 2, *words)
            self.assertFalse(edge.exists() or cloud.exists())
        ended = hairpin("convert", "split", self.model, "--layers", "1,2,1",
                        "--edge", self.edge_half, "--cloud", cloud)  # fmt: skip
        self.assert_error(ended, 2, str(self.edge_half), "in use")
        self.assertFalse(cloud.exists())

    def test_merge_refuses_halves_of_two_models(self):
        other, edge, cloud = (self.folder / f"other{name}" for name in ("", "-edge", "-cloud"))
        subprocess.run([binary("make_tiny"), "model", other], check=True)
        weights = Weights(other)
        weights.data = bytes([weights.data[0] ^ 1]) + weights.data[1:]
        weights.write()
        halves = "--edge", edge, "--cloud", cloud
        self.run_well("convert", "split", other, "--layers", "1,2,1", *halves)
        whole = self.folder / "whole"
        ended = hairpin("convert", "merge", self.edge_half, cloud, "--output", whole)
        self.assert_error(ended, 2, "different models", str(cloud))
        self.assertFalse(whole.exists())


if __name__ == "__main__":
    unittest.main()
