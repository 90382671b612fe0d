"""The outcomes of wan_latency.py as a table, and whether they hold."""

import statistics
from dataclasses import dataclass

from wan_latency import ADAPTIVE, PEER, PEER_LOSS_OFF, Outcome, Table


@dataclass
class Row:
    contender: str
    rtt: float  # ms
    runs: int
    tokens_per_second: float
    kept: float  # of the same contender's throughput at the first round trip
    simulated: float | None  # kept, by simulation
    over_simulated: float | None  # the measured step over the simulated one
    adaptive: float  # hairpin-adaptive's throughput at this round trip over this one
    emulator: float  # share of a core
    limit: float | None

    def holds(self) -> bool:
        return self.limit is None or self.kept >= self.limit


def rows_of(table: Table, outcomes: list[Outcome]) -> list[Row]:
    def of(contender: str, rtt: float) -> list[Outcome]:
        return [o for o in outcomes if (o.contender, o.rtt) == (contender, rtt)]

    def step(contender: str, rtt: float) -> float:
        return statistics.median(o.seconds for o in of(contender, rtt))

    def simulated(contender: str, rtt: float) -> float | None:
        found = [o.simulated for o in of(contender, rtt) if o.simulated]
        return statistics.median(found) if found else None

    rows = []
    for contender in table.contenders:
        for rtt in table.rtts:
            first = table.rtts[0]
            then, now = simulated(contender, first), simulated(contender, rtt)
            rows.append(
                Row(
                    contender=contender,
                    rtt=rtt,
                    runs=len(of(contender, rtt)),
                    tokens_per_second=table.microbatches * table.tokens / step(contender, rtt),
                    kept=step(contender, first) / step(contender, rtt),
                    simulated=then / now if then and now else None,
                    over_simulated=step(contender, rtt) / now if now else None,
                    adaptive=step(contender, rtt) / step(ADAPTIVE, rtt),
                    emulator=statistics.mean(o.emulator for o in of(contender, rtt)),
                    limit=table.limits.get(rtt) if contender == ADAPTIVE else None,
                )
            )
    return rows


def share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f} %"


def print_rows(rows: list[Row]) -> None:
    print(
        f"\n{'':17} {'RTT':>6} {'runs':>4} {'tokens/s':>8} {'kept':>8} {'limit':>8}"
        f" {'simulated':>9} {'step/sim.':>9} {'adaptive/it':>11} {'emulator':>8}"
    )
    for row in rows:
        over = "" if row.over_simulated is None else f"{row.over_simulated:.3f}"
        verdict = "" if row.holds() else "  MISSED"
        print(
            f"{row.contender:17} {row.rtt:3g} ms {row.runs:4} {row.tokens_per_second:8.0f}"
            f" {share(row.kept):>8} {share(row.limit):>8} {share(row.simulated):>9} {over:>9}"
            f" {row.adaptive:11.2f} {share(row.emulator):>8}{verdict}"
        )


def check_losses(outcomes: list[Outcome]) -> bool:
    """Bit-equal over all of Hairpin's runs, as far as they go; the peer's first loss is theirs, but
    for the link's codec."""
    ours = [o for o in outcomes if not o.contender.startswith(PEER)]
    longest = max((o.losses for o in ours), key=len)
    equal = [o for o in ours if o.losses == longest[: len(o.losses)]]
    kinds = len({o.contender for o in ours})
    rtts = len({o.rtt for o in ours})
    print(
        f"losses bit-equal to each other: {len(equal)} of {len(ours)} runs, {kinds} schedules,"
        f" {rtts} round trips: {', '.join(f'{loss:.6f}' for loss in longest)}"
    )
    peers = [o for o in outcomes if o.contender.startswith(PEER)]
    near = [o for o in peers if abs(o.losses[0] - longest[0]) < PEER_LOSS_OFF]
    if peers:
        print(f"PyTorch's first losses within {PEER_LOSS_OFF:g} of it: {len(near)} of {len(peers)},"
              f" {', '.join(f'{loss:.6f}' for loss in peers[0].losses)}")  # fmt: skip
    return len(equal) == len(ours) and len(near) == len(peers)
