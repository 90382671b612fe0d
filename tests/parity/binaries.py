"""Hairpin's binaries as ctest hands them over: HAIRPIN_<target> holds the path."""

import os
import subprocess
import sys


def run(target: str, *arguments: object) -> str:
    """Standard output; a failure shows all that the binary said."""
    variable = f"HAIRPIN_{target}"
    if variable not in os.environ:
        sys.exit(f"{variable} is not set to the path of the binary: run this through ctest")
    command = [os.environ[variable], *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise AssertionError(
            f"exit code {result.returncode} from {' '.join(command)}\n{result.stdout}{result.stderr}"
        )
    return result.stdout
