"""Tiny random models, packed microbatches, and the plain `transformers` computation on them.

A microbatch is {"tokens", "segment_lengths", "targets"}, flat lists: segments laid end to end,
attention never crossing from one to the next, target -1 where nothing is to be predicted. The twin
knows no packing: it runs every segment as a sequence of its own.
"""

import os
import random
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

VOCABULARY = 331
SHAPE = dict(
    vocab_size=VOCABULARY,
    hidden_size=64,
    intermediate_size=176,
    num_hidden_layers=6,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=512,
    bos_token_id=1,
    eos_token_id=2,
)
MODELS = {
    "tied Llama": lambda: LlamaForCausalLM(LlamaConfig(tie_word_embeddings=True, **SHAPE)),
    "untied Qwen2": lambda: Qwen2ForCausalLM(Qwen2Config(tie_word_embeddings=False, **SHAPE)),
}


def randomise(model, seed: int) -> None:
    """Weights that make every one count: biases not zero, norm weights not one."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            noise = torch.randn(parameter.shape, generator=generator)
            if "norm" in name:
                parameter.copy_(1 + 0.1 * noise)
            else:
                parameter.copy_(0.08 * noise)


def make_model(kind: str, directory: Path, seed: int = 1, **config):
    """Writes a Hugging Face directory without a tokenizer and returns the model, in fp32."""
    model = MODELS[kind]().float()
    for key, value in config.items():
        setattr(model.config, key, value)
    randomise(model, seed)
    model.save_pretrained(directory)
    return model.eval()


def make_batch(lengths: list[int], generator: random.Random, masked: float = 0.3) -> dict:
    tokens: list[int] = []
    targets: list[int] = []
    for length in lengths:
        segment = [generator.randrange(VOCABULARY) for _ in range(length)]
        tokens += segment
        targets += [-1 if generator.random() < masked else token for token in segment[1:]] + [-1]
    return {"tokens": tokens, "segment_lengths": lengths, "targets": targets}


def logits(model, batch: dict) -> torch.Tensor:
    """[T, vocabulary]"""
    segments = torch.tensor(batch["tokens"]).split(batch["segment_lengths"])
    return torch.cat([model(input_ids=segment[None]).logits[0] for segment in segments])


def loss_sum(model, batch: dict) -> torch.Tensor:
    targets = torch.tensor(batch["targets"])
    return torch.nn.functional.cross_entropy(
        logits(model, batch), targets, ignore_index=-1, reduction="sum"
    )


def decayed_and_not(model) -> list[dict]:
    """Weight decay is for matrices; norms and biases have none."""
    parameters = list(model.parameters())
    return [
        {"params": [p for p in parameters if p.dim() > 1]},
        {"params": [p for p in parameters if p.dim() == 1], "weight_decay": 0.0},
    ]


def train(model, options: dict, steps: list[list[dict]]) -> list[dict]:
    """One {"loss", "grad_norm"} a step; every trained token of a step weighs the same."""
    optimizer = torch.optim.AdamW(
        decayed_and_not(model),
        betas=(options["beta1"], options["beta2"]),
        eps=options["epsilon"],
        weight_decay=options["weight_decay"],
    )
    records = []
    for step, batches in enumerate(steps):
        warm = min(1.0, (step + 1) / max(1, options["warmup_steps"]))
        for group in optimizer.param_groups:
            group["lr"] = options["learning_rate"] * warm
        count = sum(target >= 0 for batch in batches for target in batch["targets"])
        loss = 0.0
        for batch in batches:
            part = loss_sum(model, batch) / count
            part.backward()
            loss += part.item()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), options["clip_norm"])
        optimizer.step()
        optimizer.zero_grad()
        records.append({"loss": loss, "grad_norm": norm.item()})
    return records
