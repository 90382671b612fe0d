"""Shows that check_layers refuses what it should, on small trees made for it."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CHECK = Path(__file__).with_name("check_layers")
GRAPH = """
hairpin_module(base)
hairpin_module(wire  DEPS base)
hairpin_module(link  DEPS wire LIBS OpenSSL::SSL)
hairpin_module(nn    DEPS base LIBS hairpin::torch)
hairpin_module(train DEPS link nn)
"""


def run(files: dict[str, str], graph: str = GRAPH) -> tuple[int, str]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in {"CMakeLists.txt": graph, "hairpin/base/log.h": "", **files}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        result = subprocess.run([sys.executable, CHECK, root], capture_output=True, text=True)
        return result.returncode, result.stdout


class CheckLayers(unittest.TestCase):
    def test_allows_own_folder_and_what_deps_lead_to(self):
        files = {"hairpin/link/a.cc": '#include "hairpin/link/a.h"\n#include "hairpin/base/log.h"\n'}
        self.assertEqual(run(files)[0], 0)

    def test_refuses_an_include_upwards_and_names_file_and_line(self):
        code, output = run({"hairpin/wire/a.h": '#pragma once\n#include "hairpin/link/b.h"\n'})
        self.assertEqual(code, 1)
        self.assertIn('hairpin/wire/a.h:2: wire may not include "hairpin/link/b.h"', output)

    def test_refuses_an_include_beside(self):
        self.assertEqual(run({"hairpin/nn/a.cc": '#include "hairpin/wire/b.h"\n'})[0], 1)

    def test_refuses_libtorch_below_it(self):
        code, output = run({"hairpin/wire/a.cc": "#include <ATen/core/Tensor.h>\n"})
        self.assertEqual(code, 1)
        self.assertIn("wire is free of LibTorch", output)

    def test_allows_libtorch_above_it(self):
        self.assertEqual(run({"hairpin/train/a.cc": "#include <ATen/core/Tensor.h>\n"})[0], 0)

    def test_refuses_a_folder_without_a_line(self):
        self.assertEqual(run({"hairpin/extra/a.cc": ""})[0], 1)

    def test_refuses_deps_that_point_downwards(self):
        code, output = run({}, "hairpin_module(base DEPS wire)\nhairpin_module(wire)\n")
        self.assertEqual(code, 1)
        self.assertIn("base depends on wire", output)


if __name__ == "__main__":
    unittest.main()
