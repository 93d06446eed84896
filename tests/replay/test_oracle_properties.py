"""A replay gives what the oracle gives, and the same to the last bit however it is cut and fused (SEMANTICS §9)."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from tests.oracle import replay
from tests.oracle.strategies import Case, cases, query_text
from tests.replay.in_memory import LATE_COLUMNS, Replayed, Steps, nearly, replay_in_memory

A_FEW = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
TWICE_AS_DEAR = settings(A_FEW, max_examples=6)
MOST_STEPS = 3


def last_seq(case: Case) -> int:
    return len(case.arrivals) if case.until is None else case.until


def fused(draw: st.DrawFn, cuts: list[int]) -> Steps:
    """The micro-batches that end at `cuts`, fused into a few steps."""
    inner = draw(st.lists(st.integers(1, len(cuts)), max_size=MOST_STEPS - 1, unique=True))
    bounds = sorted({0, *inner, len(cuts)})
    return [cuts[begin:end] for begin, end in pairwise(bounds)]


@st.composite
def cut_cases(draw: st.DrawFn, ways: int) -> tuple[Case, list[tuple[Steps, int | None]]]:
    """A case with rows, and ways to replay it: its steps, and how many positions lateness judges together."""
    case = draw(cases(greatest_count=20).filter(lambda case: case.arrivals))
    last = last_seq(case)
    found = []
    for way in range(ways):
        if way == 0:
            cuts = [*(cut for cut in case.cuts if cut < last), last]
        else:
            inner = draw(st.sets(st.integers(1, last), max_size=6))
            cuts = sorted(inner | {last})
        found.append((fused(draw, cuts), draw(st.sampled_from([None, 1, 3]))))
    return case, found


def check_against_oracle(case: Case, replayed: Replayed) -> None:
    want = replay(
        case.arrivals, case.punctuations, case.query, until=case.until, close_at_end=case.close_at_end
    )
    named = list(want.results[0]) if want.results else ["window_id"]
    got = [{name: row[name] for name in named} for row in replayed.results]
    assert nearly(got) == nearly(want.results)
    late = [{name: row[name] for name in LATE_COLUMNS} for row in replayed.late]
    assert nearly(late) == nearly(want.late)
    assert replayed.ledger == want.ledger(1, last_seq(case))


def check_batches(replayed: Replayed, steps: Steps) -> None:
    """Each result is in the micro-batch of the arrival that released it, each late row in its own."""
    ends = [end for step in steps for end in step]

    def batch_of(seq: int) -> int:
        return next(number for number, end in enumerate(ends, start=1) if seq <= end)

    assert [row["batch_id"] for row in replayed.late] == [batch_of(row["seq"]) for row in replayed.late]
    for row in replayed.results:
        # A punctuation at the end of a step is heard there; at its very start, in its first micro-batch.
        assert row["batch_id"] == batch_of(max(1, row["released_seq"]))
    rows = [batch.rows_in for batch in replayed.counts]
    assert rows == [end - begin for begin, end in zip([0, *ends], ends, strict=False)]


@pytest.mark.slow
@A_FEW
@given(cut_cases(ways=1))
def test_oracle_replay_gives_what_the_definitions_give(
    brisk: SparkSession, drawn: tuple[Case, list[tuple[Steps, int | None]]]
) -> None:
    case, [(steps, block)] = drawn
    note(f"{query_text(case)}\nsteps {steps}, blocks of {block}")
    replayed = replay_in_memory(brisk, case, steps, block)
    check_against_oracle(case, replayed)
    check_batches(replayed, steps)
    ids = [row["answer_id"] for row in replayed.results]
    assert len(set(ids)) == len(ids)
    assert {row["sign"] for row in replayed.results} <= {1}


@pytest.mark.slow
@TWICE_AS_DEAR
@given(cut_cases(ways=2))
def test_differential_two_cuttings_agree_to_the_last_bit(
    brisk: SparkSession, drawn: tuple[Case, list[tuple[Steps, int | None]]]
) -> None:
    case, ways = drawn
    note(f"{query_text(case)}\n{ways}")
    one, other = (replay_in_memory(brisk, case, steps, block) for steps, block in ways)
    assert one.as_text == other.as_text
    assert one.ledger == other.ledger
    check_against_oracle(case, one)
