"""A fine-tuned export loads in `transformers`, which measures the same held-out loss."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

import binaries
import twin

sys.path.append(str(Path(__file__).resolve().parents[2] / "examples" / "icd10"))
import transformers_loss  # noqa: E402

TOLERANCE = 1e-4
CHATML = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content']"
    " + '<|im_end|>' + '\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
WORDS = "fever cough fracture of the left radius asthma with acute chest pain in both knees".split()


def sample(seed: int) -> dict:
    words = [WORDS[(seed * step + step) % len(WORDS)] for step in range(3 + seed % 5)]
    return {
        "messages": [
            {"role": "user", "content": " ".join(words)},
            {"role": "assistant", "content": f"{words[-1]} {seed % 7}."},
        ]
    }


def write_samples(file: Path, seeds: range) -> None:
    file.write_text("".join(json.dumps(sample(seed)) + "\n" for seed in seeds))


def write_tokenizer(directory: Path) -> None:
    """Byte-level BPE with the vocabulary of the tiny models, ChatML as its template."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=twin.VOCABULARY,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator([" ".join(WORDS)] * 3, trainer)
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<|im_start|>", eos_token="<|im_end|>"
    )
    wrapped.chat_template = CHATML
    wrapped.save_pretrained(directory)


def write_job(folder: Path) -> Path:
    job = folder / "job.toml"
    job.write_text(
        f"""
        [model]
        path = "{folder}/model"
        [data]
        train = "{folder}/train.jsonl"
        sequence_length = 128
        [train]
        steps = 5
        microbatches = 2
        [optimizer]
        learning_rate = 3e-3
        clip_norm = 1.0
        [output]
        directory = "{folder}/run"
        """
    )
    return job


def measured_by_transformers(model: Path, data: Path) -> tuple[float, int]:
    loaded, report = AutoModelForCausalLM.from_pretrained(
        model, dtype=torch.float32, output_loading_info=True
    )
    for problem in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        assert not report[problem], f"{problem}: {report[problem]}"
    tokenizer = AutoTokenizer.from_pretrained(model)
    return transformers_loss.held_out_loss(loaded.eval(), tokenizer, data)


class Export(unittest.TestCase):
    def check(self, kind: str) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            twin.make_model(kind, folder / "model")
            write_tokenizer(folder / "model")
            write_samples(folder / "train.jsonl", range(100, 160))
            write_samples(folder / "eval.jsonl", range(20))
            binaries.run("hairpin", "train", write_job(folder))

            data = folder / "eval.jsonl"
            before, _ = measured_by_transformers(folder / "model", data)
            export = folder / "run" / "export"
            theirs, count = measured_by_transformers(export, data)
            ours = json.loads(binaries.run("hairpin", "eval", export, "--data", data, "--json"))
        print(f"{kind}: {before:.4f} before; after, {ours['loss']:.6f} and {theirs:.6f}")
        self.assertLess(theirs, before - 0.1)  # a trained model, not the one it began with
        self.assertEqual(ours["trained_tokens"], count)
        self.assertAlmostEqual(ours["loss"], theirs, delta=TOLERANCE)

    def test_tied_llama(self):
        self.check("tied Llama")

    def test_untied_qwen2(self):
        self.check("untied Qwen2")


if __name__ == "__main__":
    torch.set_num_threads(1)
    unittest.main()
