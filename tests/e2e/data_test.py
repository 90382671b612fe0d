"""Samples that cannot be used: refused with file, line and reason, or skipped and counted."""

import json
import unittest

from product import SAMPLES, ProductTest, sample

LONG = sample("How long?", "very " * 60 + "long")
UNTRAINED = sample("An answer that does not fit? " + "no " * 60, "no")


def turns(*pairs: tuple[str, object]) -> str:
    return json.dumps({"messages": [{"role": r, "content": c} for r, c in pairs]}) + "\n"


# what is written -> what is said
BAD_LINES = {
    "{no json\n": "invalid JSON",
    '["a list"]\n': "not a JSON object",
    '{"prompt": "a"}\n': 'no "messages" array',
    "\n": "blank",
    turns(("user", "a")): "not from",
    turns(("assistant", "a")): '"user" is due',
    turns(("user", "a"), ("robot", "b")): '"robot"',
    turns(("user", "a"), ("assistant", "  ")): "empty",
    turns(("user", "a"), ("assistant", 3)): "not text",
}


class Data(ProductTest):
    def data(self, lines: list[str | bytes], **changes: object):
        file = self.folder / f"data{self.jobs}.jsonl"
        file.write_bytes(b"".join(x if isinstance(x, bytes) else x.encode() for x in lines))
        settings = {f"data.{key}": value for key, value in changes.items()}
        one_site = ("split", "edge", "cloud", "link")
        return file, self.job({"data.train": str(file)} | settings, without=one_site)

    def test_a_bad_line_is_named(self):
        for line, words in BAD_LINES.items():
            with self.subTest(words=words):
                file, job = self.data([*SAMPLES[:2], line, *SAMPLES[2:]])
                self.refuse("train", job, f"{file}:3: ", words, 'data.on_bad_sample = "skip"')

    def test_invalid_utf8(self):
        file, job = self.data([SAMPLES[0], b'{"messages": "\xff"}\n'])
        self.refuse("train", job, f"{file}:2: ", "invalid UTF-8")

    def test_bad_lines_are_skipped_and_counted(self):
        clean, job = self.data(SAMPLES)
        self.run_well("train", job.file)
        _, dirty = self.data([*BAD_LINES, *SAMPLES, *BAD_LINES], on_bad_sample="skip")
        ended = self.run_well("train", dirty.file)
        self.assertIn(f"{2 * len(BAD_LINES)} bad", ended.err)
        self.assertIn(":1: skipped: invalid JSON", ended.err)
        same = [[line["loss"] for line in run.metrics()] for run in (job, dirty)]
        self.assertEqual(same[0], same[1])

    def test_nothing_left(self):
        file, job = self.data([*BAD_LINES], on_bad_sample="skip")
        ended = self.refuse("train", job, str(file), f"no sample left of {len(BAD_LINES)} lines")
        self.assertIn("skipped", ended.err)
        file, job = self.data([])
        self.refuse("train", job, str(file), "no sample left")

    def test_a_long_sample(self):
        lines = [*SAMPLES[:1], LONG, *SAMPLES[1:]]
        file, job = self.data(lines)
        words = f"{file}:2: ", "tokens", "data.sequence_length = 128", "data.on_long_sample"
        self.refuse("train", job, *words, "truncate", "skip")
        file, job = self.data(lines, on_long_sample="skip")
        ended = self.run_well("train", job.file)
        self.assertIn(f"{file}:2: skipped", ended.err)
        self.assertIn(f"{len(SAMPLES)} samples", ended.err)
        file, job = self.data(lines, on_long_sample="truncate")
        ended = self.run_well("train", job.file)
        self.assertIn("1 samples truncated to data.sequence_length = 128", ended.err)
        self.assertIn(f"{len(SAMPLES) + 1} samples", ended.err)

    def test_nothing_to_train_on_after_truncation(self):
        lines = [SAMPLES[0], UNTRAINED]
        file, job = self.data(lines, on_long_sample="truncate")
        self.refuse("train", job, f"{file}:2: ", "nothing to train on", "truncation")
        _, job = self.data(lines, on_long_sample="truncate", on_bad_sample="skip")
        ended = self.run_well("train", job.file)
        self.assertIn(":2: skipped: nothing to train on", ended.err)
        self.assertIn("1 samples", ended.err)


if __name__ == "__main__":
    unittest.main()
