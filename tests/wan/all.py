"""make test-wan: all tests over the emulated network, and which ones ran. Where none can be
emulated the last line says why, and the exit code is 0."""

import os
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
BINARIES = HERE.parents[1] / "build" / "bin"
MODULES = ["emulator_test", "link_test", "run_test", "synthetic_run_test"]

sys.path += [str(HERE), str(HERE.parent / "e2e")]


class Result(unittest.TextTestResult):
    """Remembers what passed."""

    def startTestRun(self) -> None:
        self.passed: list[str] = []

    def addSuccess(self, test: unittest.TestCase) -> None:
        super().addSuccess(test)
        self.passed.append(test.id())


def main() -> int:
    from wan import why_not

    if reason := why_not():
        print(f"test-wan: nothing was run: {reason}")
        return 0
    suite = unittest.defaultTestLoader.loadTestsFromNames(MODULES)
    runner = unittest.TextTestRunner(verbosity=2, resultclass=Result)
    result = runner.run(suite)
    print(*result.passed, sep="\n")
    print(f"test-wan: {len(result.passed)} of {result.testsRun} tests passed over the emulated network")
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    for target in "wanem", "link_probe", "synthetic_run", "hairpin", "make_tiny":
        os.environ.setdefault(f"HAIRPIN_{target}", str(BINARIES / target))
    sys.exit(main())
