"""Writes chat samples made of the ICD-10-CM tabular list.

    make_data.py DIR

ICD-10-CM is the code system in which hospitals of the United States report diagnoses. Under many
codes its tabular list names "inclusion terms": the wordings a physician may use for that diagnosis.
Each becomes one sample, the term as the question and the code with its title as the answer:

    user:      ICD-10-CM code for: Stroke NOS
    assistant: I63.9 Cerebral infarction, unspecified

The list is the XML file inside the PyPI package `simple-icd-10-cm`. The samples are shuffled with a
fixed seed; the first 200 are held out as DIR/eval.jsonl and the others are DIR/train.jsonl, one
OpenAI-messages object a line. The same package version gives the same bytes.
"""

import importlib.util
import json
import random
import sys
import xml.etree.ElementTree as xml
from collections.abc import Iterator
from pathlib import Path

HELD_OUT = 200
SEED = 42


def tabular_list() -> Path:
    spec = importlib.util.find_spec("simple_icd_10_cm")
    if spec is None:
        sys.exit(f"the package simple-icd-10-cm is missing from {sys.executable}: run make build")
    folder = Path(spec.submodule_search_locations[0]) / "data"
    files = list(folder.glob("icd10c-tabular-*.xml"))
    if len(files) != 1:
        sys.exit(f"{folder}: expected one icd10c-tabular-*.xml, found {len(files)}")
    return files[0]


def one_line(text: str | None) -> str:
    return " ".join((text or "").split())


def pairs(root: xml.Element) -> Iterator[tuple[str, str]]:
    """(inclusion term, "CODE title"), in the list's order."""
    for diagnosis in root.iter("diag"):
        answer = one_line(f"{diagnosis.findtext('name')} {diagnosis.findtext('desc')}")
        for note in diagnosis.findall("inclusionTerm/note"):
            term = one_line(note.text)
            if term:
                yield term, answer


def sample(term: str, answer: str) -> str:
    messages = [
        {"role": "user", "content": f"ICD-10-CM code for: {term}"},
        {"role": "assistant", "content": answer},
    ]
    return json.dumps({"messages": messages}, ensure_ascii=False)


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    directory = Path(sys.argv[1]).resolve()
    directory.mkdir(parents=True, exist_ok=True)

    # A term listed twice under one code is one sample: it must not be held out and trained on.
    unique = dict.fromkeys(pairs(xml.parse(tabular_list()).getroot()))
    lines = [sample(term, answer) for term, answer in unique]
    random.Random(SEED).shuffle(lines)

    for name, part in (("eval.jsonl", lines[:HELD_OUT]), ("train.jsonl", lines[HELD_OUT:])):
        text = "".join(line + "\n" for line in part)
        (directory / name).write_text(text, encoding="utf-8")
        print(f"{directory / name}: {len(part)} samples")


if __name__ == "__main__":
    main()
