"""The link over an emulated network: everything comes, also over a bad one. Untimed: figures are for
benchmarks/link_wan.py."""

import unittest

from probe import probe
from product import ProductTest
from wan import Wan

FRAME = 4 << 20


class LinkTest(ProductTest):
    def probe(self, wan: Wan, **options):
        return probe(wan, self.keys / "good", frame_bytes=FRAME, control_ms=50, **options)

    def assert_came(self, site: dict, frames: int) -> None:
        self.assertEqual(site["came"]["frames"], frames)
        self.assertEqual(site["came"]["bytes"], frames * FRAME)
        self.assertGreaterEqual(len(site["came"]["control_ms"]), frames > 0)

    def test_one_way(self):
        with Wan(delay_ms=10, rate_mbit=100) as wan:
            probed = self.probe(wan, up_frames=2)
            counts = wan.close()
        self.assert_came(probed.cloud, 2)
        self.assert_came(probed.edge, 0)
        self.assertGreater(counts["up"]["bytes"], 2 * FRAME)
        self.assertGreater(probed.edge["sent"]["bytes"], 2 * FRAME)
        # What control waited can't be less than one way takes, nor the rate more than the path's.
        self.assertGreaterEqual(min(probed.cloud["came"]["control_ms"]), 10)
        self.assertLessEqual(probed.cloud["came"]["mbit_per_second"], 100)

    def test_both_ways_at_once(self):
        with Wan(delay_ms=10, rate_mbit=100) as wan:
            probed = self.probe(wan, up_frames=2, down_frames=3)
        self.assert_came(probed.cloud, 2)
        self.assert_came(probed.edge, 3)

    def test_one_connection(self):
        with Wan(delay_ms=2, rate_mbit=100) as wan:
            self.assert_came(self.probe(wan, up_frames=2, connections=1).cloud, 2)

    def test_loss_and_jitter_are_no_end(self):
        bad = {"loss_pct": 1, "jitter_ms": 5, "reorder": 1, "up_rate_mbit": 50}
        with Wan(delay_ms=10, mtu=1500, **bad) as wan:
            probed = self.probe(wan, up_frames=2, down_frames=2)
            counts = wan.close()
        self.assert_came(probed.cloud, 2)
        self.assert_came(probed.edge, 2)
        self.assertGreater(counts["up"]["lost"], 0)
        self.assertGreater(counts["down"]["lost"], 0)


if __name__ == "__main__":
    unittest.main()
