#!/usr/bin/env python3
"""Asks a language model the prompts of `rung probe`, with transformers.

    python3 run.py MODEL [--batch 8] [--tokens 12] [--device cuda]

MODEL is a folder or a name that transformers knows. Reads prompts.jsonl beside this file and writes answers.jsonl there, one line
a prompt: {"id", "answer"}. Greedy decoding; answers that are there already are kept, so that a stopped run can be resumed.
Then: rung probe --judge answers.jsonl --config MODEL/config.json
"""
import argparse
import json
import os

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def ask(model, tokenizer, prompts, tokens, device):
    batch = tokenizer(prompts, return_tensors="pt", padding=True).to(device)
    with torch.no_grad():
        written = model.generate(**batch, max_new_tokens=tokens, do_sample=False, pad_token_id=tokenizer.pad_token_id)
    return tokenizer.batch_decode(written[:, batch["input_ids"].shape[1]:], skip_special_tokens=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=12, help="most tokens of an answer")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()

    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "prompts.jsonl"), encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    path, kept = os.path.join(here, "answers.jsonl"), []
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            kept = [line for line in file if line.endswith("\n")]  # a line that was cut off is asked again
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(kept)
    done = {json.loads(line)["id"] for line in kept}
    rows = [row for row in rows if row["id"] not in done]

    tokenizer = AutoTokenizer.from_pretrained(options.model, padding_side="left")
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    model = AutoModelForCausalLM.from_pretrained(options.model, torch_dtype="auto").to(options.device).eval()
    with open(path, "a", encoding="utf-8") as file:
        for begin in range(0, len(rows), options.batch):
            part = rows[begin:begin + options.batch]
            answers = ask(model, tokenizer, [row["prompt"] for row in part], options.tokens, options.device)
            for row, answer in zip(part, answers):
                file.write(json.dumps({"id": row["id"], "answer": answer}) + "\n")
            file.flush()
            print(f"{begin + len(part)} of {len(rows)}", flush=True)


if __name__ == "__main__":
    main()
