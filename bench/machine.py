"""What a measurement ran on, and how much of it others took meanwhile."""

import os
import platform
import subprocess
from pathlib import Path


def cpu_ticks():
    """(all, stolen by the hypervisor, busy) ticks since boot; zeros where there is no /proc/stat."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return 0, 0, 0
    user, nice, system, idle, iowait, irq, softirq, steal = map(int, stat.read_text().split("\n")[0].split()[1:9])
    total = user + nice + system + idle + iowait + irq + softirq + steal
    return total, steal, total - idle - iowait - steal


class Watch:
    """Share of CPU time stolen, and load, while `with` lasts."""

    def __enter__(self):
        self.before = cpu_ticks()
        return self

    def __exit__(self, *_):
        total, steal, _ = (b - a for a, b in zip(self.before, cpu_ticks()))
        self.steal = steal / total if total else 0.0
        self.load = os.getloadavg()[0]


def describe():
    """One line: CPU, cores, memory, system."""
    info = Path("/proc/cpuinfo")
    names = [line.split(":")[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")] if info.exists() else []
    flags = info.read_text() if info.exists() else ""
    isa = "AVX-512 VNNI" if "avx512_vnni" in flags else "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else platform.machine()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{names[0] if names else platform.processor()}, {cores} cores, {isa}, {memory:.0f} GiB, {platform.system()} {platform.release()}"


def commit():
    root = Path(__file__).resolve().parent.parent
    done = subprocess.run(["git", "-C", str(root), "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return done.stdout.strip() or "no commit"
