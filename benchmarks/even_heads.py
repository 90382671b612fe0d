"""SmolLM2-135M as two tensor-parallel ranks can share it: 8 heads with 4 K/V heads in place of 9 with 3.

The queries and the output projection lose a head of 64 rows or columns, the K/V heads gain one (a
copy of the first): as many parameters as before, so as much work, but for a ninth of the attention
itself. What it says is of no interest, its speed is.
"""

import json
import shutil
from pathlib import Path

import numpy
from safetensors.numpy import load_file, save_file

HEADS, KEY_VALUE_HEADS, SIZE = 8, 4, 64


def changed(name: str, weight: numpy.ndarray) -> numpy.ndarray:
    if name.endswith("q_proj.weight"):
        return weight[: HEADS * SIZE]
    if name.endswith(("k_proj.weight", "v_proj.weight")):
        return numpy.concatenate([weight, weight[:SIZE]])
    if name.endswith("o_proj.weight"):
        return numpy.ascontiguousarray(weight[:, : HEADS * SIZE])
    return weight


def make_even_heads(source: Path, target: Path) -> None:
    """`target` becomes a Hugging Face directory; one that is already complete is left alone."""
    if target.exists():
        return
    # Written aside and renamed, so that an interrupted run leaves no half of a model.
    partial = target.with_name(target.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.copytree(source, partial, ignore=shutil.ignore_patterns("*.safetensors"))
    weights = load_file(source / "model.safetensors")
    weights = {name: changed(name, weight) for name, weight in weights.items()}
    save_file(weights, partial / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((partial / "config.json").read_text(encoding="utf-8"))
    config |= {"num_attention_heads": HEADS, "num_key_value_heads": KEY_VALUE_HEADS}
    (partial / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    partial.rename(target)
