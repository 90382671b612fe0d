"""Runs link_probe at both ends of an emulated network; HAIRPIN_link_probe or build/bin/link_probe."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from wan import ROOT, Wan

PATIENCE = 300  # seconds for a probe to end


def prober() -> str:
    return os.environ.get("HAIRPIN_link_probe", str(ROOT / "build" / "bin" / "link_probe"))


@dataclass
class Probed:
    """What each site says: came, estimate, sent, received (link_probe.cc)."""

    edge: dict
    cloud: dict


def probe(
    wan: Wan,
    keys: Path,
    *,
    frame_bytes: int,
    up_frames: int = 0,
    down_frames: int = 0,
    control_ms: int = 0,
    connections: int = 4,
) -> Probed:
    """`keys` holds those of both sites, edge/ and cloud/. Each site sends its frames at once."""
    ends = {}
    for site, frames in ("cloud", down_frames), ("edge", up_frames):
        command = [prober(), site, "--address", f"{wan.cloud}:7461", "--keys", keys / site]
        command += ["--frames", frames, "--frame-bytes", frame_bytes]
        command += ["--control-ms", control_ms, "--connections", connections]
        ends[site] = wan.popen(
            site, command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    said = {}
    for site, end in ends.items():
        out, err = end.communicate(timeout=PATIENCE)
        if end.returncode != 0:
            raise AssertionError(f"{site} ended with {end.returncode}: {err}")
        said[site] = json.loads(out)
    return Probed(**said)
