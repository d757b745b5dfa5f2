"""Tracks: the entries of one metric at one point, in order, and how far the latest is from those before.

Two sweeps at two times are not paired: what differs may be the machine's day. So nothing here is a verdict;
`kvdyno regress` gives those. Ratios to an anchor, which ran in the same sweep, cancel the day.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kvdyno.model.history import Entry, Standing, Track


def ordered(entries: Iterable[Entry]) -> dict[Track, tuple[Entry, ...]]:
    """Every track's entries by time, in the order in which tracks appear. The latest entry of a revision
    counts, at the place of its first.
    """
    found: dict[Track, dict[str, Entry]] = {}
    for entry in sorted(entries, key=lambda each: each.at):
        found.setdefault(entry.track, {})[entry.revision] = entry
    return {track: tuple(by_revision.values()) for track, by_revision in found.items()}


def standings(entries: Iterable[Entry]) -> tuple[Standing, ...]:
    """Where every track stands."""
    return tuple(_standing(track, mine) for track, mine in ordered(entries).items())


def _standing(track: Track, entries: Sequence[Entry]) -> Standing:
    latest, before = entries[-1], entries[:-1]
    alike = [each for each in before if latest.anchor and each.anchor == latest.anchor and each.ratio]
    anchored = bool(alike) and bool(latest.ratio)
    those = alike if anchored else before
    return Standing(
        track=track,
        entries=tuple(entries),
        step=_quotient(latest, those[-1], anchored=anchored) if those else None,
        drift=_quotient(latest, those[0], anchored=anchored) if those else None,
        apart=bool(those) and _apart(_interval(latest, anchored), _interval(those[-1], anchored)),
        anchored=anchored,
    )


def _quotient(latest: Entry, other: Entry, *, anchored: bool) -> float | None:
    after, before = (each.ratio if anchored else each.value for each in (latest, other))
    return after / before if after is not None and before else None


def _interval(entry: Entry, anchored: bool) -> tuple[float | None, float | None]:
    return (entry.ratio_low, entry.ratio_high) if anchored else (entry.low, entry.high)


def _apart(one: tuple[float | None, float | None], other: tuple[float | None, float | None]) -> bool:
    (low, high), (others_low, others_high) = one, other
    if low is None or high is None or others_low is None or others_high is None:
        return False
    return high < others_low or others_high < low
