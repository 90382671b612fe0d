"""Held-out loss and a greedy answer of a Hugging Face directory by `transformers`.

    transformers_loss.py MODEL_DIR EVAL.jsonl [--threads N] [--ask QUESTION]

An independent witness of what `hairpin eval` prints: nothing of Hairpin is used. Prints one JSON
object {"loss", "trained_tokens", "answer"}: loss is the mean cross-entropy in nats over the tokens
of the assistant's turns, each turn's closing <|im_end|> included.
"""

import argparse
import json
import os
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging

END_OF_TURN = "<|im_end|>"


def encode(tokenizer, messages: list[dict]) -> tuple[list[int], list[bool]]:
    """Token ids, and for each whether predicting it is counted.

    The template is applied to ever longer beginnings of the conversation: what an assistant's
    message adds after the generation prompt is that turn.
    """
    ids: list[int] = []
    counted: list[bool] = []
    for count, message in enumerate(messages, start=1):
        if message["role"] != "assistant":
            continue
        prompt = tokenizer.apply_chat_template(
            messages[: count - 1], add_generation_prompt=True, tokenize=False
        )
        turn = tokenizer.apply_chat_template(messages[:count], tokenize=False)[len(prompt) :]
        answer, end, _ = turn.rpartition(END_OF_TURN)
        ids = tokenizer(prompt, add_special_tokens=False).input_ids
        counted += [False] * (len(ids) - len(counted))
        answer_ids = tokenizer(answer + end, add_special_tokens=False).input_ids
        ids += answer_ids
        counted += [True] * len(answer_ids)
    return ids, counted


def batch_loss(model, samples: list[tuple[list[int], list[bool]]]) -> tuple[float, int]:
    """Sum of the losses and number of counted tokens; samples are padded on the right."""
    longest = max(len(ids) for ids, _ in samples)
    ids = torch.tensor([s + [0] * (longest - len(s)) for s, _ in samples])
    labels = torch.full_like(ids, -100)
    attention = torch.zeros_like(ids)
    for row, (tokens, counted) in enumerate(samples):
        attention[row, : len(tokens)] = 1
        for column, wanted in enumerate(counted):
            if wanted:
                labels[row, column] = tokens[column]
    with torch.no_grad():
        logits = model(input_ids=ids, attention_mask=attention).logits
    loss = torch.nn.functional.cross_entropy(
        logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100, reduction="sum"
    )
    return loss.item(), int((labels[:, 1:] != -100).sum())


def held_out_loss(model, tokenizer, file: Path, batch_size: int = 8) -> tuple[float, int]:
    lines = file.read_text(encoding="utf-8").splitlines()
    samples = [encode(tokenizer, json.loads(line)["messages"]) for line in lines]
    samples.sort(key=lambda sample: len(sample[0]))  # batches of like lengths: little padding
    total, count = 0.0, 0
    for start in range(0, len(samples), batch_size):
        loss, counted = batch_loss(model, samples[start : start + batch_size])
        total += loss
        count += counted
    return total / count, count


def ask(model, tokenizer, question: str) -> str:
    messages = [{"role": "user", "content": question}]
    prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    inputs = tokenizer(prompt, add_special_tokens=False, return_tensors="pt")
    output = model.generate(**inputs, max_new_tokens=40, do_sample=False)
    return tokenizer.decode(output[0, inputs.input_ids.shape[1] :], skip_special_tokens=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--ask", metavar="QUESTION")
    arguments = parser.parse_args()

    logging.disable_progress_bar()
    torch.set_num_threads(arguments.threads)
    tokenizer = AutoTokenizer.from_pretrained(arguments.model)
    model = AutoModelForCausalLM.from_pretrained(arguments.model, dtype=torch.float32).eval()
    loss, count = held_out_loss(model, tokenizer, arguments.data)
    result = {"loss": loss, "trained_tokens": count}
    if arguments.ask:
        result["answer"] = ask(model, tokenizer, arguments.ask)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
