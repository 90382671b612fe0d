"""Compares Hairpin's tokenizer and chat rendering with Hugging Face's on a model's own files.

    compare_with_hf.py MODEL_DIRECTORY PROBE_BINARY [--per-class N] [--seed S]

Builds distinct texts of each class below from a seed, asks `tokenizer_probe` and Hugging Face's
`tokenizers` for ids and decoded texts, and ends with status 1 when any differs. Characters
assigned after Unicode 14 are left out: PCRE2 in Debian 12 does not know them. Also compared: ids
that decode to broken UTF-8, and conversations rendered with the model's chat template.
"""

import argparse
import json
import random
import subprocess
import sys
import unicodedata

from tokenizers import Tokenizer
from transformers import AutoTokenizer

KNOWS_14_EXACTLY = unicodedata.unidata_version.startswith("14.")  # Python 3.11


def old_enough(code):
    """Assigned in Unicode 14 or before, and no surrogate. A Python with newer tables can only vouch
    for Unicode 3.2, which every Python carries, and for the emoji blocks used below."""
    emoji = 0x1F300 <= code <= 0x1F64F or 0x1F680 <= code <= 0x1F6D7 or 0x1F900 <= code <= 0x1F9FF
    tables = unicodedata if KNOWS_14_EXACTLY or emoji else unicodedata.ucd_3_2_0
    return tables.category(chr(code)) not in ("Cs", "Cn")


def block(*ranges):
    return [chr(c) for low, high in ranges for c in range(low, high + 1) if old_enough(c)]


LATIN = block((0x61, 0x7A), (0x41, 0x5A))
DIGITS = block((0x30, 0x39))
PUNCTUATION = block((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E))
CJK = block((0x4E00, 0x9FFF), (0x3041, 0x30FF), (0xAC00, 0xD7A3), (0x3001, 0x301F),
            (0xFF01, 0xFF9F), (0x20000, 0x200FF))
ARABIC = block((0x0600, 0x06FF), (0x0750, 0x077F), (0xFB50, 0xFBFF), (0xFE70, 0xFEFC))
EMOJI = block((0x1F300, 0x1F64F), (0x1F680, 0x1F6D7), (0x1F900, 0x1F9FF), (0x2600, 0x27BF))
SKIN = block((0x1F3FB, 0x1F3FF))
MARKS = block((0x0300, 0x036F), (0x0483, 0x0487), (0x0591, 0x05BD), (0x093A, 0x094D),
              (0x1AB0, 0x1ACE), (0x20D0, 0x20F0))
NUMBERS = DIGITS + [c for c in block((0xB2, 0xBE), (0x0660, 0x0669), (0x0966, 0x096F),
                                     (0x2070, 0x2189), (0x2460, 0x24FF), (0x3021, 0x3029),
                                     (0x1D7CE, 0x1D7FF), (0x10107, 0x10133))
                    if unicodedata.category(c)[0] == "N"]
SPACES = list(" \t\n\r\v\f\x1c\x1f\x85\xa0\u1680\u180e\u2000\u2003\u200a\u200b\u2028\u2029"
              "\u202f\u205f\u2060\u3000\ufeff")
ANY = [chr(c) for c in range(0x110000) if old_enough(c)]
CONTRACTIONS = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'LL", "\u2019s", "'x"]


def some(rng, alphabet, low, high):
    return "".join(rng.choice(alphabet) for _ in range(rng.randint(low, high)))


def word(rng):
    return some(rng, LATIN[:26], 1, 9)


def words(rng):
    parts = []
    for _ in range(rng.randint(1, 14)):
        text = word(rng)
        text = rng.choice([text, text.title(), text.upper(), text + rng.choice(CONTRACTIONS)])
        parts.append(text + rng.choice(["", "", "", ",", ".", "!", "?", ";", ":", "..."]))
    return " ".join(parts)


def code(rng):
    lines = []
    for _ in range(rng.randint(1, 6)):
        indent = rng.choice(["", "  ", "    ", "\t", "\t\t", "        "])
        name, other = word(rng), word(rng)
        number = rng.randint(0, 10**rng.randint(1, 9))
        lines.append(indent + rng.choice([
            f"def {name}(self, {other}={number}):", f"{name}->{other}[{number}] += 0x{number:x};",
            f"if ({name} != {other} && !{name}.{other}()) {{", "}", f"// {name} {other}",
            f"#include <{name}/{other}.h>", f"return {name} ** {number} // {number + 1}",
            f"const auto& {name} = std::get<{number % 7}>({other});", f"{name}: \"{other}\\n\",",
            f"SELECT {name} FROM {other} WHERE id='{number}';", f"<{name} {other}='{number}'/>",
        ]))
    return rng.choice(["\n", "\n\n", "\r\n"]).join(lines) + rng.choice(["", "\n", " "])


def cjk(rng):
    return some(rng, CJK, 1, 30) + rng.choice(["", " ", word(rng), "\n", some(rng, CJK, 1, 4)])


def arabic(rng):
    return " ".join(some(rng, ARABIC, 1, 9) for _ in range(rng.randint(1, 9)))


def emoji(rng):
    parts = []
    for _ in range(rng.randint(1, 6)):
        part = rng.choice(EMOJI) + rng.choice(["", "\ufe0f", rng.choice(SKIN)])
        for _ in range(rng.choice([0, 0, 1, 2, 3])):
            part += "\u200d" + rng.choice(EMOJI) + rng.choice(["", "\ufe0f"])
        parts.append(part)
    flag = "".join(rng.choice(block((0x1F1E6, 0x1F1FF))) for _ in range(2))
    return rng.choice(["", " "]).join(parts) + rng.choice(["", flag, " " + word(rng)])


def marks(rng):
    text = ""
    for _ in range(rng.randint(1, 12)):
        text += rng.choice(LATIN + [" ", "1", "-"]) + some(rng, MARKS, 0, 4)
    return rng.choice([text, unicodedata.normalize("NFC", text), some(rng, MARKS, 1, 3) + text])


def digits(rng):
    parts = [some(rng, NUMBERS, 1, 8) for _ in range(rng.randint(1, 8))]
    return rng.choice([" ", "", ".", ",", "-", "a", "/"]).join(parts)


def crlf(rng):
    ends = ["\r\n", "\r", "\n", "\n\r", "\r\n\r\n"]
    text = "".join(words(rng) + rng.choice(ends) for _ in range(rng.randint(1, 4)))
    return rng.choice(["", "\r\n"]) + text + rng.choice(["", "\r", "  "])


def spaces(rng):
    text = ""
    for _ in range(rng.randint(1, 8)):
        text += some(rng, rng.choice([SPACES, [" "], [" ", "\n"]]), 1, 12)
        text += rng.choice(["", word(rng), "!", "1", "'s", "\u00e9"])
    return text


def anything(rng):
    return some(rng, ANY, 1, 20)


def ascii_soup(rng):
    return some(rng, LATIN + DIGITS + PUNCTUATION * 2 + [" ", " ", "\n"], 1, 40)


def controls(rng):
    return some(rng, [chr(c) for c in range(0x20)] + [" ", "a", "\x7f"], 1, 12)


def specials_in(specials):
    def special(rng):
        text = rng.choice(["", " ", "\n"])
        for _ in range(rng.randint(1, 5)):
            whole = rng.choice(specials)
            cut = rng.randint(1, len(whole))
            text += rng.choice([whole, whole, whole[:cut], whole[cut:], whole[:cut] + whole])
            text += rng.choice(["", " ", "  ", "\n", word(rng), words(rng), "\u3042"])
        return text
    return special


def distinct(make, count, rng):
    made = {}
    while len(made) < count:
        made[make(rng)] = None
    return list(made)


def invalid_utf8(rng):
    """Bytes that are not UTF-8, and where they stop being so as Python sees it."""
    broken = [b"\x80", b"\xbf", b"\xc0\xaf", b"\xc1\x81", b"\xe0\x80\x80", b"\xed\xa0\x80",
              b"\xf0\x80\x80\x80", b"\xf4\x90\x80\x80", b"\xf5", b"\xff", b"\xe2\x82", b"\xf0\x9f",
              b"\xc3", b"\xf0\x9f\x98"]
    head = rng.choice([words, cjk, emoji, lambda _: ""])(rng).encode()
    return head + rng.choice(broken) + rng.choice([b"", b" ", words(rng).encode()])


def conversation(rng):
    texts = [words, code, cjk, emoji, spaces, digits, crlf, lambda r: "\n" + words(r)]
    text = lambda: rng.choice(texts)(rng)
    messages = [{"role": "system", "content": text()}] if rng.random() < 0.4 else []
    for _ in range(rng.randint(1, 3)):
        messages += [{"role": "user", "content": text()}, {"role": "assistant", "content": text()}]
    return messages


class Probe:
    def __init__(self, binary, model):
        self.command = [binary, model]

    def ask(self, requests):
        lines = "".join(json.dumps(request) + "\n" for request in requests)
        done = subprocess.run(self.command, input=lines, capture_output=True, text=True,
                              encoding="utf-8", check=False)
        if done.returncode != 0:
            sys.exit(f"the probe ended with status {done.returncode}: {done.stderr}")
        return [json.loads(line) for line in done.stdout.split("\n") if line]


class Report:
    def __init__(self):
        self.failed = 0

    def line(self, name, count, failures):
        print(f"{name:24} {count:6} compared  {len(failures):6} differ", flush=True)
        for failure in failures[:3]:
            print("   ", failure)
        self.failed += len(failures)


def compare_texts(name, texts, probe, hf, report):
    answers = probe.ask([{"hex": text.encode().hex()} for text in texts])
    failures = []
    for text, got in zip(texts, answers, strict=True):
        ids = hf.encode(text, add_special_tokens=False).ids
        want = {"ids": ids, "text": hf.decode(ids, skip_special_tokens=False),
                "text_no_special": hf.decode(ids, skip_special_tokens=True)}
        if got != want:
            failures.append(f"{text!r}: got {got}, want {want}")
    report.line(name, len(texts), failures)


def compare_refusals(count, probe, rng, report):
    broken = distinct(invalid_utf8, count, rng)
    failures = []
    for data, got in zip(broken, probe.ask([{"hex": b.hex()} for b in broken]), strict=True):
        try:
            data.decode()
            sys.exit(f"defect of this script: {data!r} is valid")
        except UnicodeDecodeError as error:
            if f"byte {error.start} " not in got.get("error", ""):
                failures.append(f"{data!r}: got {got}, want a refusal at byte {error.start}")
    report.line("invalid UTF-8 refused", len(broken), failures)


def compare_decoding(count, probe, hf, rng, report):
    size = hf.get_vocab_size()
    lists = [[rng.randrange(size) for _ in range(rng.randint(1, 12))] for _ in range(count)]
    # Single bytes in random order: mostly broken UTF-8.
    ids = [hf.token_to_id(t) for t in hf.get_vocab() if len(t) == 1]
    lists += [[rng.choice(ids) for _ in range(rng.randint(1, 12))] for _ in range(count)]
    failures = []
    for tokens, got in zip(lists, probe.ask([{"ids": i} for i in lists]), strict=True):
        want = {"text": hf.decode(tokens, skip_special_tokens=False),
                "text_no_special": hf.decode(tokens, skip_special_tokens=True)}
        if got != want:
            failures.append(f"{tokens}: got {got}, want {want}")
    report.line("decoding of any ids", len(lists), failures)


def compare_chats(count, probe, model, rng, report):
    hf = AutoTokenizer.from_pretrained(model)
    chats = [conversation(rng) for _ in range(count)]
    requests = [{"messages": chat, "prompt": prompt} for chat in chats for prompt in (False, True)]
    failures, untrained = [], 0
    for request, got in zip(requests, probe.ask(requests), strict=True):
        want = hf.apply_chat_template(request["messages"], tokenize=True, return_dict=False,
                                      add_generation_prompt=request["prompt"])
        if got.get("ids") != want:
            failures.append(f"{request}: got {got}, want {want}")
        elif not request["prompt"]:
            failures += check_trained(request["messages"], got, hf)
    report.line("conversations", len(requests), failures)


def check_trained(messages, got, hf):
    """Trained tokens, decoded, are the answers with their ends (but white space that merges with the
    header, which is left out)."""
    trained = hf.decode([i for i, t in zip(got["ids"], got["trained"], strict=True) if t])
    answers = [m["content"] for m in messages if m["role"] == "assistant"]
    parts = trained.split("<|im_end|>")
    good = len(parts) == len(answers) + 1 and parts[-1] == "" and all(
        whole.endswith(part) and not whole[:len(whole) - len(part)].strip()
        for whole, part in zip(answers, parts))
    return [] if good else [f"trained on {trained!r} of {answers!r}"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("probe")
    parser.add_argument("--per-class", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    hf = Tokenizer.from_file(f"{args.model}/tokenizer.json")
    probe, report = Probe(args.probe, args.model), Report()
    specials = [t.content for t in hf.get_added_tokens_decoder().values()]
    classes = {"words": words, "code": code, "CJK": cjk, "Arabic": arabic,
               "emoji with joiners": emoji, "combining marks": marks, "digits": digits,
               "CRLF": crlf, "runs of spaces": spaces, "special tokens inside": specials_in(specials),
               "ASCII soup": ascii_soup, "control characters": controls, "any characters": anything}
    for name, make in classes.items():
        compare_texts(name, distinct(make, args.per_class, rng), probe, hf, report)
    everyone = ["".join(f"a{c}" for c in ANY[i:i + 64]) for i in range(0, len(ANY), 64)]
    compare_texts("every character, 64 each", everyone, probe, hf, report)
    compare_refusals(args.per_class, probe, rng, report)
    compare_decoding(args.per_class, probe, hf, rng, report)
    compare_chats(args.per_class // 2, probe, args.model, rng, report)
    print("identical" if report.failed == 0 else f"{report.failed} differences")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
