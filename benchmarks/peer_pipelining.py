"""The yardstick over a wide-area network: PyTorch's own pipelining, one of two processes.

    peer_pipelining.py MODEL_DIR DATA.jsonl --rank 0|1 --address HOST:PORT --layers 3 6 3
                       [--schedule ZBV] [--steps 3] [--microbatches 64] [--length 128]

`torch.distributed.pipelining` with four stages in a V: stages 0 and 3 on rank 0, 1 and 2 on rank 1,
which is the hairpin placement, the cloud's layers in two halves. The stages are the blocks of
`transformers`, fp32, the transport is gloo, AdamW as Hairpin's job has it. Samples fill a microbatch
each, the loss is the mean over their answers' tokens. Rank 0 prints one JSON object: losses and
step_seconds by step.
"""

import argparse
import json
import os
import socket
import time
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, ScheduleDualPipeV, ScheduleZBVZeroBubble
from transformers import AutoModelForCausalLM, AutoTokenizer

SCHEDULES = {"ZBV": ScheduleZBVZeroBubble, "DualPipeV": ScheduleDualPipeV}
STAGES_OF_RANK = {0: (0, 3), 1: (1, 2)}
UNTRAINED = -100


class Part(torch.nn.Module):
    """A run of the model's layers; the first has the embedding, the last norm and head."""

    def __init__(self, model, first: int, end: int):
        super().__init__()
        body = model.model
        self.embed = body.embed_tokens if first == 0 else None
        self.layers = body.layers[first:end]
        self.rotary = body.rotary_emb
        last = end == len(body.layers)
        self.norm, self.head = (body.norm, model.lm_head) if last else (None, None)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.embed is not None:
            x = self.embed(x)
        positions = torch.arange(x.shape[1])[None]
        rotary = self.rotary(x, positions)
        for layer in self.layers:
            x = layer(x, position_ids=positions, position_embeddings=rotary)
        return x if self.head is None else self.head(self.norm(x))


def loss_of(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.cross_entropy(
        logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=UNTRAINED
    )


def batch(tokenizer, data: Path, count: int, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids and labels [count, length] of the first samples, cut; the prompt isn't trained on."""
    ids, labels = [], []
    for line in data.read_text(encoding="utf-8").splitlines()[:count]:
        messages = json.loads(line)["messages"]
        text = tokenizer.apply_chat_template(messages, tokenize=False)
        prompt = tokenizer.apply_chat_template(
            messages[:-1], tokenize=False, add_generation_prompt=True
        )
        whole, asked = (
            tokenizer(each, add_special_tokens=False).input_ids for each in (text, prompt)
        )
        ids.append(whole[:length])
        labels.append(([UNTRAINED] * len(asked) + whole[len(asked) :])[:length])
    return torch.tensor(ids), torch.tensor(labels)


def join(rank: int, address: str) -> None:
    """Gloo would look up the host's name; in a namespace only the other interface leads anywhere."""
    names = [name for _, name in socket.if_nameindex() if name != "lo"]
    os.environ["GLOO_SOCKET_IFNAME"] = names[0]
    dist.init_process_group("gloo", init_method=f"tcp://{address}", rank=rank, world_size=2)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--address", required=True)
    parser.add_argument("--layers", type=int, nargs=3, required=True)
    parser.add_argument("--schedule", choices=SCHEDULES, default="ZBV")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--microbatches", type=int, default=64)
    parser.add_argument("--length", type=int, default=128)
    return parser.parse_args()


def main() -> None:
    options = parse()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_pretrained(options.model, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(options.model)
    ids, labels = batch(tokenizer, options.data, options.microbatches, options.length)

    head, cloud, tail = options.layers
    cuts = [0, head, head + cloud // 2, head + cloud, head + cloud + tail]
    parts = {i: Part(model, cuts[i], cuts[i + 1]) for i in STAGES_OF_RANK[options.rank]}
    parameters = [p for part in parts.values() for p in part.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=3e-4, weight_decay=0.0)

    join(options.rank, options.address)
    stages = [PipelineStage(part, i, 4, torch.device("cpu")) for i, part in parts.items()]
    schedule = SCHEDULES[options.schedule](stages, options.microbatches, loss_fn=loss_of)
    first = options.rank == 0
    seconds, losses = [], []
    for _ in range(options.steps):
        began = time.perf_counter()
        of_microbatches: list[torch.Tensor] = []
        if first:
            schedule.step(ids, target=labels, losses=of_microbatches)
        else:
            schedule.step()
        optimizer.step()
        optimizer.zero_grad()
        seconds.append(time.perf_counter() - began)
        if first:
            losses.append(torch.stack(of_microbatches).mean().item())
    if first:
        print(json.dumps({"losses": losses, "step_seconds": seconds}))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
