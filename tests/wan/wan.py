"""An emulated wide-area network between two network namespaces, "edge" and "cloud".

    sys.path.insert(0, ".../tests/wan")
    from wan import Wan, why_not

    if reason := why_not():
        sys.exit(reason)
    with Wan(delay_ms=50, rate_mbit=200, loss_pct=1, down_jitter_pct=20) as wan:
        cloud = wan.popen("cloud", [hairpin, "cloud", job])   # job: link.address = f"{wan.cloud}:7461"
        wan.run("edge", [hairpin, "edge", job], check=True)
        wan.set(delay_ms=80)                                   # from now on
        print(wan.counts()["late_us_most"])

Options are those of `wanem --help`, dashes as underscores: `delay_ms` for both directions,
`up_delay_ms` (edge to cloud) or `down_delay_ms` for one. Nobody else sees the namespaces, which are
gone with the last process in them; any number of emulators run side by side. Needs root,
/dev/net/tun, nsenter, and the emulator: HAIRPIN_wanem or build/bin/wanem.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60  # seconds for the emulator to answer or to end


def emulator() -> str:
    return os.environ.get("HAIRPIN_wanem", str(ROOT / "build" / "bin" / "wanem"))


class WanError(Exception):
    pass


def why_not() -> str | None:
    """One sentence why no network can be emulated here; None where it can."""
    if not Path(emulator()).exists():
        raise WanError(f"{emulator()} isn't built; run make test-wan")
    if shutil.which("nsenter") is None:
        return "no network can be emulated here: there is no nsenter; install util-linux"
    check = subprocess.run([emulator(), "--check"], stdin=subprocess.DEVNULL, capture_output=True)
    return None if check.returncode == 0 else check.stderr.decode().strip().removeprefix("wanem: ")


class Wan:
    """Of one emulator. `edge` and `cloud` are the two addresses. Not thread-safe."""

    def __init__(self, **options: float):
        command = [emulator()]
        for name, value in options.items():
            command += [f"--{name.replace('_', '-')}", f"{value:.12g}"]
        self._programs: list[subprocess.Popen] = []
        # Its input ends with this process, however that ends; then so does the emulator.
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            ready = self._answer("ready")
        except WanError:
            self.close()
            raise
        self.edge, self.cloud = (ready[site]["address"] for site in ("edge", "cloud"))
        self._namespaces = {site: ready[site]["namespace"] for site in ("edge", "cloud")}
        # False where the emulator may not go before other programs: then it is late on a busy machine.
        self.realtime: bool = ready["realtime"]

    def __enter__(self) -> "Wan":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def command(self, site: str, arguments: Sequence[object]) -> list[str]:
        """The command line that runs another one at a site."""
        return ["nsenter", f"--net={self._namespaces[site]}", "--", *map(str, arguments)]

    def run(self, site: str, arguments: Sequence[object], **options: Any):
        """subprocess.run at a site."""
        return subprocess.run(self.command(site, arguments), **options)

    def popen(self, site: str, arguments: Sequence[object], **options: Any) -> subprocess.Popen:
        """subprocess.Popen at a site; killed by `close` if it still runs then."""
        program = subprocess.Popen(self.command(site, arguments), **options)
        self._programs.append(program)
        return program

    def set(self, **options: float) -> None:
        """Changes the path from now on; returns when it is done."""
        for name, value in options.items():
            self._say(f"{name.replace('_', '-')} {value:.12g}")
            self._answer("set")

    def counts(self) -> dict[str, Any]:
        """What went through so far: packets, bytes, dropped by the queue and lost, "up" and "down";
        and how far the emulator was behind its own times (late_us_mean, late_us_most)."""
        self._say("counts")
        return self._answer("counts")

    def close(self) -> dict[str, Any]:
        """Ends everything; the last counts, or nothing when it was closed before."""
        for program in self._programs:
            if program.poll() is None:
                program.kill()
            program.wait()
        self._programs.clear()
        if self.process.stdin.closed:
            return {}
        self.process.stdin.close()
        try:
            out = self.process.stdout.read()
            self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
            self.process.stderr.close()
        return json.loads(out.splitlines()[-1]) if out else {}

    def _say(self, line: str) -> None:
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise WanError(f"the emulator has ended with code {self.process.wait()}") from None

    def _answer(self, event: str) -> dict[str, Any]:
        line = self.process.stdout.readline()
        if not line:
            error = self.process.stderr.read().strip().removeprefix("wanem: ")
            raise WanError(error or f"the emulator has ended with code {self.process.wait()}")
        answer = json.loads(line)
        if answer["event"] != event:
            raise WanError(answer.get("error", f"the emulator said {line.strip()}"))
        return answer
