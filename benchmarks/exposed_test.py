"""Shares of small traces, reckoned by hand."""

import unittest

from exposed import exposed_shares

SECOND = 1e6  # in a trace's microseconds
NAMES = {0: "site rank dp 0", 1: "site rank dp 1", 2: "dp 0, dp communication"}
NAMES[3] = "dp 1, dp communication"


def trace(*spans: tuple[int, str, float, float], dropped: int = 0) -> dict:
    """Of (thread, name, begin, end) in seconds. Each operation reads 1000 bytes."""
    events = [
        {"name": "thread_name", "ph": "M", "pid": 0, "tid": tid, "args": {"name": name}}
        for tid, name in NAMES.items()
    ]
    for tid, name, begin, end in spans:
        times = {"ts": begin * SECOND, "dur": (end - begin) * SECOND}
        what = {"name": name, "ph": "X", "cat": "dp", "args": {"bytes": 1000}}
        events.append({"pid": 0, "tid": tid, **what, **times})
    return {"traceEvents": events, "dropped": dropped}


WARM_UP = [(2, "all_reduce", 0, 5), (3, "all_reduce", 0, 5), (0, "wait all_reduce", 0, 5)]


class ExposedShares(unittest.TestCase):
    def test_waiting_for_a_slower_replica_is_not_communication(self):
        # Rank 0 comes at 10, rank 1 at 14; active from 14 to 18. Rank 0 waits 13 to 19, rank 1 not.
        shares = exposed_shares(
            trace(
                *WARM_UP,
                (2, "all_reduce", 10, 18),
                (3, "all_reduce", 14, 17),
                (0, "wait all_reduce", 13, 19),
            ),
            steps=2,
        )
        self.assertAlmostEqual(shares["all_reduce"].active, 4)
        self.assertAlmostEqual(shares["all_reduce"].exposed, 4 / 2)
        self.assertAlmostEqual(shares["all_reduce"].exposed_share(), 0.5)
        self.assertAlmostEqual(shares["all_reduce"].standstill, 0)
        self.assertAlmostEqual(shares["all_reduce"].bytes_per_second(), 250)

    def test_only_the_part_that_a_rank_waits_for_is_exposed(self):
        # From 10 to 12 rank 0 computes and rank 1 waits half the time; the end of 12 to 15 stops
        # both. The file has no order.
        times = [(0, 2), (2, 4), (10, 12), (12, 15)]
        in_file = times[2:] + times[:2]
        operations = [(tid, "all_reduce", *each) for tid in (2, 3) for each in in_file]
        waits = [(tid, "wait all_reduce", *each) for tid in (0, 1) for each in [(13, 15), (0, 4)]]
        waits.append((1, "wait all_reduce", 11, 12))
        shares = exposed_shares(trace(*operations, *waits), steps=2)
        self.assertAlmostEqual(shares["all_reduce"].active, 2 + 3)
        self.assertAlmostEqual(shares["all_reduce"].exposed, (2 + 3) / 2)
        self.assertAlmostEqual(shares["all_reduce"].standstill_share(), 2 / 5)

    def test_the_last_gather_is_left_out_and_the_first_sum(self):
        both = [
            (tid, name, begin, end)
            for tid in (2, 3)
            for name, begin, end in [
                ("reduce_scatter", 0, 1),
                ("all_gather", 2, 4),
                ("reduce_scatter", 10, 12),
                ("all_gather", 20, 28),
            ]
        ]
        waits = [(tid, "wait all_gather", 20, 28) for tid in (0, 1)]
        shares = exposed_shares(trace(*both, *waits), steps=2)
        self.assertAlmostEqual(shares["reduce_scatter"].active, 2)
        self.assertAlmostEqual(shares["all_gather"].active, 2)
        self.assertAlmostEqual(shares["all_gather"].exposed, 0)

    def test_refuses_a_trace_that_lacks_something(self):
        one_rank_missing = trace((2, "all_reduce", 0, 5))
        half_a_step = trace(*WARM_UP)
        events_dropped = trace(*WARM_UP, *WARM_UP, dropped=1)
        for bad in (one_rank_missing, half_a_step, events_dropped):
            with self.assertRaises(SystemExit):
                exposed_shares(bad, steps=2)
        exposed_shares(trace(*WARM_UP, *WARM_UP), steps=2)


if __name__ == "__main__":
    unittest.main()
