"""The link over an emulated wide-area network, beside its limits: run from the repository's root.

    link_wan.py [--frames 4] [--frame-mb 64] [--loss-frames 3] [--repeats 1] [--skip-emulator]

200 Mbit/s, 50 ms each way, a queue of one bandwidth-delay product before the bottleneck, and tensors
of --frame-mb. `up` is edge to cloud. First the emulator itself, so that what follows is the link's
and not its; then, repeat by repeat,

    up          the edge sends alone
    both        both sites send at once
    up, lossy   as the first, with 1 % of the packets lost: no reconnecting, everything comes

`rate` is payload over the time from the first send to the last arrival, start-up included. `behind` is
how long a message of the control lane took that was queued right behind the first tensor, `later` those
that followed every 100 ms: median and worst. Needs what docs/wan.md says, and a machine that does
nothing else: exit code 1 when a figure with a limit misses it.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "wan"))

from probe import probe  # noqa: E402
from wan import ROOT, Wan, why_not  # noqa: E402

RATE_MBIT = 200
ONE_WAY_MS = 50
HAIRPIN = os.environ.get("HAIRPIN_hairpin", ROOT / "build" / "bin" / "hairpin")

# One datagram every 3 ms with the time of its sending; the other end says how long each took.
SEND = """
import socket, sys, time
probe = socket.socket(type=socket.SOCK_DGRAM)
for i in range(500):
    probe.sendto(time.monotonic_ns().to_bytes(8, "little"), (sys.argv[1], 5000))
    time.sleep(0.003)
"""
TIME = """
import socket, time
probe = socket.socket(type=socket.SOCK_DGRAM)
probe.bind(("0.0.0.0", 5000))
print("ready", flush=True)
took = []
while len(took) < 500:
    sent = int.from_bytes(probe.recv(100), "little")
    took.append((time.monotonic_ns() - sent) / 1e6)
took.sort()
print(took[250], took[494])
"""
# A gigabyte over one TCP connection.
FILL = """
import socket, sys
stream = socket.create_connection((sys.argv[1], 5000))
for i in range(1000):
    stream.sendall(bytes(1000000))
"""
DRAIN = """
import socket, time
server = socket.create_server(("0.0.0.0", 5000))
print("ready", flush=True)
stream, _ = server.accept()
buffer, size, began = bytearray(1 << 20), 0, None
while came := stream.recv_into(buffer):
    began = began or time.monotonic()
    size += came
print(size * 8e-6 / (time.monotonic() - began))
"""


@dataclass
class Figure:
    what: str
    value: float
    unit: str
    least: float | None = None
    most: float | None = None

    def holds(self) -> bool:
        over = self.most is not None and self.value > self.most
        return not over and (self.least is None or self.value >= self.least)

    def print(self) -> None:
        limit = f">= {self.least:g}" if self.least is not None else ""
        limit = f"<= {self.most:g}" if self.most is not None else limit
        verdict = "" if self.holds() else "  MISSED"
        print(f"{self.what:34} {self.value:9.1f} {self.unit:7} {limit:>9}{verdict}", flush=True)


def two_ends(wan: Wan, receiver: str, sender: str) -> list[float]:
    python = [sys.executable, "-c"]
    end = wan.popen("cloud", [*python, receiver], stdout=subprocess.PIPE, text=True)
    end.stdout.readline()
    wan.run("edge", [*python, sender, wan.cloud], check=True)
    return [float(figure) for figure in end.communicate(timeout=300)[0].split()]


def measure_emulator() -> list[Figure]:
    with Wan(delay_ms=10) as wan:
        median, late = two_ends(wan, TIME, SEND)
        behind = wan.counts()["late_us_mean"]
        if not wan.realtime:
            print("the emulator may not run before other programs here: its delays will be unsteady")
    with Wan(delay_ms=10, rate_mbit=1000) as wan:
        (rate,) = two_ends(wan, DRAIN, FILL)
    return [
        Figure("emulator: 10 ms take, median", median, "ms", most=10.2),
        Figure("emulator: 10 ms take, 99 of 100", late, "ms"),
        Figure("emulator: behind its time, mean", behind, "us", most=200),
        Figure("emulator: of 1 Gbit/s pass", rate, "Mbit/s", least=900),
    ]


def figures_of(way: str, end: dict, limits: bool) -> list[Figure]:
    came = end["came"]
    control = came["control_ms"]
    rate = Figure(f"{way}: rate", came["mbit_per_second"], "Mbit/s")
    behind = Figure(f"{way}: control behind a tensor", control[0], "ms")
    if limits:
        rate.least = 0.9 * RATE_MBIT
        behind.most = ONE_WAY_MS + 50
    later = control[1:] or control
    median = Figure(f"{way}: control later, median", statistics.median(later), "ms", most=behind.most)
    return [
        rate,
        behind,
        median,
        Figure(f"{way}: control later, worst", max(later), "ms"),
    ]


def measure(name: str, keys: Path, frame_bytes: int, up: int, down: int, loss_pct: float):
    with Wan(delay_ms=ONE_WAY_MS, rate_mbit=RATE_MBIT, loss_pct=loss_pct) as wan:
        probed = probe(
            wan, keys, frame_bytes=frame_bytes, up_frames=up, down_frames=down, control_ms=100
        )
        counts = wan.close()
    alone = up > 0 and down == 0
    found = figures_of(f"{name}, up" if down else name, probed.cloud, alone and not loss_pct)
    if down:
        found += figures_of(f"{name}, down", probed.edge, False)
    estimate = probed.cloud["estimate"]
    found.append(Figure(f"{name}: estimate, up", estimate["up_mbit_per_second"], "Mbit/s"))
    found.append(Figure(f"{name}: estimate, least RTT", estimate["min_rtt_ms"], "ms"))
    found.append(Figure(f"{name}: packets dropped, up", counts["up"]["dropped"], ""))
    found.append(Figure(f"{name}: packets lost, up", counts["up"]["lost"], ""))
    if loss_pct:
        missing = up - probed.cloud["came"]["frames"]
        found.append(Figure(f"{name}: tensors that didn't come", missing, "", most=0))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=4)
    parser.add_argument("--frame-mb", type=int, default=64, help="2^20 bytes")
    parser.add_argument("--loss-frames", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--skip-emulator", action="store_true")
    arguments = parser.parse_args()
    if reason := why_not():
        sys.exit(reason)

    figures: list[Figure] = []

    def add(more: list[Figure]) -> None:
        for figure in more:
            figure.print()
        figures.extend(more)

    print(f"{'':34} {'measured':>9} {'':7} {'limit':>9}")
    if not arguments.skip_emulator:
        add(measure_emulator())
    with tempfile.TemporaryDirectory() as folder:
        keys = Path(folder) / "keys"
        subprocess.run([HAIRPIN, "keys", keys], check=True, stdout=subprocess.DEVNULL)
        size, frames = arguments.frame_mb << 20, arguments.frames
        for _ in range(arguments.repeats):
            add(measure("up", keys, size, frames, 0, 0))
            add(measure("both", keys, size, frames, frames, 0))
            add(measure("up, lossy", keys, size, arguments.loss_frames, 0, 1))
    missed = [figure for figure in figures if not figure.holds()]
    print(f"{len(missed)} of {len([f for f in figures if f.least or f.most is not None])} limits missed")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
