"""The yardstick: a plain, eager `transformers` training loop.

    peer_transformers.py MODEL_DIR DATA.jsonl [--steps 3]

One process, fp32, one packed sequence of 512 tokens a microbatch, four microbatches a step, AdamW at
3e-4: what a careful newcomer writes, without compilation or fused kernels. Prints one JSON object:
tokens_per_second is the median over the steps after one warm-up step, peak_memory_bytes the highest
resident size of the process.
"""

import argparse
import json
import os
import resource
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def packed_sequences(tokenizer, data: Path, length: int) -> Iterator[torch.Tensor]:
    """The samples' tokens laid end to end and cut into [1, length] pieces."""
    buffer: list[int] = []
    for line in data.read_text(encoding="utf-8").splitlines():
        text = tokenizer.apply_chat_template(json.loads(line)["messages"], tokenize=False)
        buffer += tokenizer(text, add_special_tokens=False).input_ids
        while len(buffer) >= length:
            yield torch.tensor([buffer[:length]])
            buffer = buffer[length:]


def train_step(model, optimizer, sequences: list[torch.Tensor]) -> float:
    """One step; returns its seconds."""
    start = time.perf_counter()
    for ids in sequences:
        loss = model(input_ids=ids, labels=ids).loss
        (loss / len(sequences)).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--microbatches", type=int, default=4)
    arguments = parser.parse_args()

    torch.manual_seed(1)
    torch.set_num_threads(arguments.threads)
    tokenizer = AutoTokenizer.from_pretrained(arguments.model)
    model = AutoModelForCausalLM.from_pretrained(arguments.model, dtype=torch.float32)
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.0)

    sequences = packed_sequences(tokenizer, arguments.data, arguments.length)
    seconds = []
    for _ in range(arguments.steps + 1):
        step = [next(sequences) for _ in range(arguments.microbatches)]
        seconds.append(train_step(model, optimizer, step))
    tokens = arguments.length * arguments.microbatches
    print(
        json.dumps(
            {
                "tokens_per_second": tokens / statistics.median(seconds[1:]),
                "step_seconds": seconds[1:],
                "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            }
        )
    )


if __name__ == "__main__":
    main()
