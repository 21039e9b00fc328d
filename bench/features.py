#!/usr/bin/env python3
"""What features cost: eight streams with logprobs, penalties and a JSON schema beside eight plain ones, in interleaved rounds.

    make bench-features ARGS="--rounds 5"

Prints tokens per second over HTTP, prompts and grammars included, and their ratio (median, least, most). Not a test: nothing is asserted.
"""

import argparse
import os
import statistics
from pathlib import Path

import clients
import machine
from peers import Mlxforge
from run import find_model, undisturbed

# Realistic, and never complete within a measurement.
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 40},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "city": {"enum": ["Paris", "Rome", "Lima", "Oslo"]},
        "email": {"type": "string", "format": "email"},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 12}, "maxItems": 4},
    },
    "required": ["name", "age", "city", "email", "tags"],
    "additionalProperties": False,
}
FEATURES = {
    "logprobs": 5,
    "repetition_penalty": 1.1,
    "frequency_penalty": 0.2,
    "presence_penalty": 0.2,
    "guided_json": {"type": "array", "items": PERSON, "minItems": 100},
}


def measure(port, args, fields):
    return clients.load(port, args.clients, args.words, args.tokens, 1, **fields)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2", help="`smollm2` or a path")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--words", type=int, default=60, help="of each prompt")
    parser.add_argument("--tokens", type=int, default=128, help="of each answer")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())
    parser.add_argument("--log", type=Path, default=Path(os.devnull), help="the server's")
    args = parser.parse_args()
    print(machine.describe(), flush=True)
    port = clients.free_port()
    command = Mlxforge().serve_command(find_model(args.model, None, None), port, args.threads, args.clients, 1024)
    kinds, rates = {"plain": {}, "features": FEATURES}, {"plain": [], "features": []}
    with clients.server(command, port, args.log):
        for fields in kinds.values():
            clients.load(port, args.clients, args.words, 8, 1, **fields)  # an uncounted warm-up
        for i in range(args.rounds):
            for kind, fields in kinds.items():
                result, _ = undisturbed(f"round {i + 1} {kind}", lambda fields=fields: measure(port, args, fields))
                rates[kind].append(result["tok_s"])
    ratios = [b / a for a, b in zip(rates["plain"], rates["features"])]
    print(f"features / plain: median {statistics.median(ratios):.3f}, least {min(ratios):.3f}, most {max(ratios):.3f}")


if __name__ == "__main__":
    main()
