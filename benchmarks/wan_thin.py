"""Thin models with random weights, and samples that fill every microbatch with tokens to train on.

A step of one has as many samples as the file, so every step is an epoch: contenders that take them
in different orders have the same first loss.
"""

import json
import os
import random
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Shape:
    """A Llama model, cut into edge head, cloud and edge tail, and its samples' length."""

    layers: tuple[int, int, int]
    hidden: int
    intermediate: int
    heads: int
    tokens: int


def write_model(directory: Path, shape: Shape, make_tiny: Path) -> None:
    """Config and weights of the shape, with the tokenizer of a tiny model."""
    subprocess.run([make_tiny, "model", directory], check=True)
    os.environ["HF_HUB_OFFLINE"] = "1"
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    torch.manual_seed(1)
    vocabulary = json.loads((directory / "config.json").read_text())["vocab_size"]
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=shape.hidden,
        intermediate_size=shape.intermediate,
        num_hidden_layers=sum(shape.layers),
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        max_position_embeddings=shape.tokens,
        tie_word_embeddings=False,
    )
    LlamaForCausalLM(config).float().save_pretrained(directory)


def write_samples(file: Path, count: int, tokens: int) -> None:
    """Nonsense whose answers have more characters, and so tokens, than are used."""
    draw = random.Random(1)
    with open(file, "w", encoding="utf-8") as lines:
        for _ in range(count):
            words = ("".join(draw.choices("bcdfgaeiou", k=draw.randint(2, 6))) for _ in range(tokens))
            question = {"role": "user", "content": "?"}
            answer = {"role": "assistant", "content": " ".join(words)}
            lines.write(json.dumps({"messages": [question, answer]}) + "\n")
