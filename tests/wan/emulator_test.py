"""The emulator itself: what comes through, what doesn't, what it refuses, that it leaves nothing."""

import json
import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from wan import Wan, WanError, emulator, why_not

NOT_PERMITTED = 77  # ctest's SKIP_RETURN_CODE
PATIENCE = 60  # seconds for anything to happen on a busy machine
HERE = Path(__file__).resolve().parent

# Sends back every datagram and all that comes over a stream.
ECHO = """
import socket, threading
address = "0.0.0.0", 5000
datagrams = socket.socket(type=socket.SOCK_DGRAM)
datagrams.bind(address)
streams = socket.create_server(address)
def echo():
    while True:
        data, peer = datagrams.recvfrom(65536)
        datagrams.sendto(data, peer)
threading.Thread(target=echo, daemon=True).start()
print("ready", flush=True)
while True:
    stream, _ = streams.accept()
    while data := stream.recv(65536):
        stream.sendall(data)
    stream.close()
"""

# COUNT datagrams of SIZE bytes at once; says the numbers of those that came back within WAIT seconds
# of silence, the least round trip and the time from the first one's sending, in seconds.
PING = """
import socket, sys, time
address, count, size, wait = sys.argv[1], *map(float, sys.argv[2:])
probe = socket.socket(type=socket.SOCK_DGRAM)
probe.settimeout(wait)
sent, back, trips = {}, [], []
for i in range(int(count)):
    sent[i] = time.monotonic()
    probe.sendto(i.to_bytes(int(size), "little"), (address, 5000))
try:
    while len(back) < count:
        back.append(int.from_bytes(probe.recv(65536), "little"))
        trips.append(time.monotonic() - sent[back[-1]])
except TimeoutError:
    pass
print(back, min(trips, default=0), time.monotonic() - sent[0], sep="|")
"""

STREAM = """
import socket, sys, threading
data = bytes(range(256)) * 4096
stream = socket.create_connection((sys.argv[1], 5000))
threading.Thread(target=lambda: stream.sendall(data)).start()
back = b""
while len(back) < len(data):
    back += stream.recv(65536)
print(back == data)
"""

# A program that makes an emulator and hangs.
OWNER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from wan import Wan
wan = Wan(delay_ms=1)
print(wan.process.pid, flush=True)
time.sleep(1000)
"""


def python(code: str, *arguments: object) -> list[str]:
    return [sys.executable, "-c", code, *map(str, arguments)]


def runs(process: int) -> bool:
    status = Path(f"/proc/{process}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


class EmulatorTest(unittest.TestCase):
    def wan(self, **options: float) -> Wan:
        wan = Wan(**options)
        self.addCleanup(wan.close)
        echo = wan.popen("cloud", python(ECHO), stdout=subprocess.PIPE, text=True)
        self.addCleanup(echo.stdout.close)
        self.assertEqual(echo.stdout.readline(), "ready\n")
        return wan

    def ping(self, wan: Wan, count: int = 1, size: int = 100, wait: float = PATIENCE):
        """Numbers that came back, the least round trip and the whole time in milliseconds."""
        command = python(PING, wan.cloud, count, size, wait)
        out = wan.run("edge", command, capture_output=True, text=True, check=True).stdout
        back, *times = out.strip().split("|")
        return json.loads(back), *(float(time) * 1000 for time in times)

    def wait_for_the_end_of(self, process: int) -> None:
        end = time.monotonic() + PATIENCE
        while runs(process):
            self.assertLess(time.monotonic(), end, f"{process} still runs")
            time.sleep(0.02)

    def test_streams_and_datagrams_pass(self):
        wan = self.wan()
        stream = wan.run("edge", python(STREAM, wan.cloud), capture_output=True, check=True)
        self.assertEqual(stream.stdout, b"True\n")
        self.assertEqual(self.ping(wan, count=20)[0], list(range(20)))
        counts = wan.close()
        for way in "up", "down":
            self.assertGreater(counts[way]["bytes"], 1 << 20)
            self.assertEqual(counts[way]["dropped"] + counts[way]["lost"], 0)

    def test_nothing_comes_before_its_time(self):
        wan = self.wan(up_delay_ms=30, down_delay_ms=10)
        self.assertGreaterEqual(self.ping(wan, count=20)[1], 40)
        wan.set(delay_ms=60)
        self.assertGreaterEqual(self.ping(wan, count=20)[1], 120)

    def test_the_rate_holds(self):
        wan = self.wan(up_rate_mbit=0.8)  # 1028 bytes with their headers: 10.28 ms
        self.assertGreaterEqual(self.ping(wan, count=20, size=1000)[2], 20 * 10.28)

    def test_a_full_queue_drops(self):
        wan = self.wan(up_rate_mbit=0.08, up_queue_kb=3)
        back = self.ping(wan, count=20, size=1000, wait=1)[0]
        self.assertEqual(back[:3], [0, 1, 2])  # one is sent, two wait
        counts = wan.counts()["up"]
        self.assertEqual((counts["packets"], counts["dropped"]), (len(back), 20 - len(back)))
        self.assertGreater(counts["dropped"], 0)

    def test_cut_and_mended(self):
        wan = self.wan(delay_ms=1)
        wan.set(up_loss_pct=100)
        self.assertEqual(self.ping(wan, wait=0.2)[0], [])
        self.assertEqual(wan.counts()["up"]["lost"], 1)
        wan.set(loss_pct=0)
        self.assertEqual(self.ping(wan)[0], [0])

    def test_loss_is_seeded(self):
        seeds = 1, 1, 2
        wans = [self.wan(up_loss_pct=30, seed=seed) for seed in seeds]
        through = [self.ping(wan, 100, wait=1)[0] for wan in wans]
        self.assertEqual(through[0], through[1])
        self.assertNotEqual(through[0], through[2])
        self.assertTrue(40 < len(through[0]) < 95)

    def test_jitter_keeps_the_order_unless_allowed(self):
        jitter = {"delay_ms": 1, "up_jitter_ms": 50, "jitter_hold_ms": 0}
        self.assertEqual(self.ping(self.wan(**jitter), 50)[0], list(range(50)))
        swapped = self.ping(self.wan(**jitter, reorder=1), 50)[0]
        self.assertEqual(sorted(swapped), list(range(50)))
        self.assertNotEqual(swapped, list(range(50)))

    def test_two_side_by_side(self):
        one, two = self.wan(delay_ms=1), self.wan(delay_ms=30)
        self.assertEqual(self.ping(one)[0], [0])
        self.assertGreaterEqual(self.ping(two)[1], 60)
        one.close()
        self.assertEqual(self.ping(two)[0], [0])

    def test_bad_orders_are_told_and_change_nothing(self):
        wan = self.wan(delay_ms=20)
        for options, words in [
            ({"delay": 1}, "there is no 'delay'"),
            ({"delay_ms": -1}, "delay-ms is '-1'; give a number from 0 to 60000"),
            ({"mtu": 1500}, "mtu can't be changed"),
        ]:
            with self.assertRaisesRegex(WanError, words):
                wan.set(**options)
        self.assertGreaterEqual(self.ping(wan)[1], 40)

    def test_bad_options_end_it(self):
        for options, words in [
            (["--delay-ms"], "--delay-ms has no value"),
            (["delay-ms", "1"], "'delay-ms' is no option"),
            (["--rate-mbit", "fast"], "rate-mbit is 'fast'"),
            (["--colour", "1"], "there is no 'colour'"),
        ]:
            ended = subprocess.run([emulator(), *options], capture_output=True, text=True)
            self.assertEqual((ended.returncode, ended.stdout), (2, ""))
            self.assertEqual(len(ended.stderr.splitlines()), 1)
            self.assertIn(words, ended.stderr)
        with self.assertRaisesRegex(WanError, "from 576 to 65000"):
            Wan(mtu=1)

    def test_signals_end_it_orderly(self):
        for number in signal.SIGINT, signal.SIGTERM:
            wan = self.wan()
            wan.process.send_signal(number)
            self.assertEqual(wan.process.wait(PATIENCE), 0)
            self.assertEqual(wan.close()["event"], "counts")

    def test_it_ends_with_its_owner(self):
        owner = subprocess.Popen(python(OWNER, HERE), stdout=subprocess.PIPE, text=True)
        emulating = int(owner.stdout.readline())
        self.assertTrue(runs(emulating))
        owner.kill()
        owner.wait()
        owner.stdout.close()
        self.wait_for_the_end_of(emulating)

    def test_programs_inside_end_with_it(self):
        wan = self.wan()
        inside = wan.popen("edge", ["sleep", "1000"])
        wan.close()
        self.assertIsNotNone(inside.poll())
        self.assertEqual(wan.close(), {})

    def test_the_namespaces_are_nobody_elses(self):
        wan = self.wan()
        read = ["readlink", "/proc/self/ns/net"]
        inside = {wan.run(s, read, capture_output=True).stdout for s in ("edge", "cloud")}
        own = os.readlink("/proc/self/ns/net").encode() + b"\n"
        self.assertEqual(len(inside | {own}), 3)


if __name__ == "__main__":
    if reason := why_not():
        print(reason)
        sys.exit(NOT_PERMITTED)
    unittest.main()
