"""Each invariant of the archive: a sound one keeps all, one broken in a single way breaks exactly that."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from expectations import arrival_order
from expectations.archive import measure_archive, measure_key
from expectations.arrival_order import SeqRange, count_in_order
from expectations.invariant import Fact
from schemas.stream import Stream, declare_stream

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SCHEMA = (
    "seq bigint, arrived_at timestamp, `seg-id` int, speed double, ts timestamp,"
    " source_file string, source_line bigint"
)


def traffic(**changes: Any) -> Stream:
    declared = {
        "stream": "Traffic",
        "attributes": {"seg-id": "integer", "speed": "double", "ts": "timestamp"},
        "timestamp": "ts",
        "arrival": {"time": "received_at"},
        "key": ["seg-id", "ts"],
        "ranges": {"speed": {"from": 0, "to": 200}},
    }
    return declare_stream({**declared, **changes})


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def tuple_at(seq: int | None, **changes: Any) -> dict[str, Any]:
    """Tuple n arrives n seconds after noon, half a second after its own timestamp."""
    place = seq or 0
    sound = {
        "seq": seq,
        "arrived_at": at(place),
        "seg-id": 1,
        "speed": 50.0,
        "ts": at(place - 0.5),
        "source_file": "a.csv",
        "source_line": place,
    }
    return {**sound, **changes}


def archive_of(spark: SparkSession, tuples: list[dict[str, Any]]) -> DataFrame:
    return spark.createDataFrame([tuple(t.values()) for t in tuples], SCHEMA).coalesce(1)


def failed(facts: list[Fact]) -> dict[str, Fact]:
    return {fact.invariant.name: fact for fact in facts if fact.failures}


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of two, so that six tuples cross their edges."""
    monkeypatch.setattr(arrival_order, "_BLOCK_BITS", 1)


def sound(n: int = 6) -> list[dict[str, Any]]:
    return [tuple_at(seq) for seq in range(1, n + 1)]


def test_a_sound_archive_keeps_every_invariant(spark: SparkSession) -> None:
    facts = measure_archive(archive_of(spark, sound()), traffic())
    assert failed(facts) == {}
    assert {f.invariant.name: f.checked for f in facts} == {
        "columns_declared": 7,
        "seq_dense": 6,
        "seq_unique": 6,
        "arrival_ordered": 6,
        "timestamp_known": 6,
        "clock_not_ahead": 6,
        "range_kept_speed": 6,
        "key_unique": 6,
    }


def test_an_empty_archive_keeps_every_invariant(spark: SparkSession) -> None:
    assert failed(measure_archive(archive_of(spark, []), traffic())) == {}


BROKEN: list[tuple[str, list[dict[str, Any]], int, list[dict[str, Any]]]] = [
    (
        "seq_dense",
        [tuple_at(seq) for seq in (2, 3, 6, 8)],
        4,
        [
            {"missing_from": 1, "missing_to": 1},
            {"missing_from": 4, "missing_to": 5},
            {"missing_from": 7, "missing_to": 7},
        ],
    ),
    ("seq_dense", [*sound(), tuple_at(None, ts=at(-9))], 1, [{"seq": None}]),
    (
        "seq_unique",
        [*sound(), tuple_at(4, speed=7.0, **{"seg-id": 2, "source_line": 9})],
        1,
        [{"seq": 4, "speed": 50.0}, {"seq": 4, "speed": 7.0}],
    ),
    (
        "arrival_ordered",
        [*sound(2), tuple_at(3, arrived_at=at(1.75), ts=at(0)), *sound()[3:]],
        1,
        [{"seq": 3, "arrived_at": "2026-01-01T12:00:01.750000Z"}],
    ),
    (
        "arrival_ordered",
        [*sound(3), tuple_at(4, arrived_at=at(2.75), ts=at(0)), *sound()[4:]],
        1,
        [{"seq": 4, "previous_arrived_at": "2026-01-01T12:00:03.000000Z"}],
    ),
    (
        "arrival_ordered",
        [*sound(3), tuple_at(4, arrived_at=None), *sound()[4:]],
        1,
        [{"seq": 4, "arrived_at": None}],
    ),
    (
        "timestamp_known",
        [*sound(5), tuple_at(6, ts=None)],
        1,
        [{"seq": 6, "ts": None, "source_file": "a.csv", "source_line": 6}],
    ),
    (
        "clock_not_ahead",
        [*sound(5), tuple_at(6, ts=at(6.000001))],
        1,
        [{"seq": 6, "ts": "2026-01-01T12:00:06.000001Z"}],
    ),
    (
        "range_kept_speed",
        [
            tuple_at(1, speed=0.0),
            tuple_at(2, speed=200.0),
            tuple_at(3, speed=None),
            tuple_at(4, speed=200.5),
            tuple_at(5, speed=-1.0),
            tuple_at(6, speed=float("nan")),
        ],
        3,
        [{"seq": 4, "speed": 200.5}, {"seq": 5, "speed": -1.0}, {"seq": 6}],
    ),
    (
        "key_unique",
        [
            *sound(),
            tuple_at(7, ts=at(1.5)),
            tuple_at(8, ts=at(1.5)),
            tuple_at(9, **{"seg-id": None}),
            tuple_at(10, ts=at(8.5), **{"seg-id": None}),
        ],
        2,
        [{"seg-id": 1, "ts": "2026-01-01T12:00:01.500000Z", "first_seq": 2, "last_seq": 8, "rows": 3}],
    ),
]


@pytest.mark.parametrize(
    ("name", "tuples", "failures", "examples"), BROKEN, ids=[f"{n}-{b[0]}" for n, b in enumerate(BROKEN)]
)
@pytest.mark.usefixtures("small_blocks")
def test_a_broken_archive_breaks_exactly_that_invariant(
    spark: SparkSession,
    name: str,
    tuples: list[dict[str, Any]],
    failures: int,
    examples: list[dict[str, Any]],
) -> None:
    broken = failed(measure_archive(archive_of(spark, tuples), traffic()))
    assert list(broken) == [name]
    assert broken[name].failures == failures
    assert len(broken[name].examples) == len(examples)
    for shown, expected in zip(broken[name].examples, examples, strict=True):
        assert expected.items() <= shown.items()


def test_columns_that_are_not_as_declared_are_named_and_the_rest_is_still_checked(
    spark: SparkSession,
) -> None:
    archive = archive_of(spark, [*sound(), tuple_at(6, **{"seg-id": 2})])
    changed = archive.selectExpr("* except (speed)", "cast(speed as string) as speed", "1 as extra")
    broken = failed(measure_archive(changed, traffic()))
    assert list(broken) == ["columns_declared", "seq_unique"]
    assert broken["columns_declared"].examples == (
        {"column": "speed", "declared": "double", "found": "string"},
        {"column": "extra", "declared": None, "found": "int"},
    )
    without_time = failed(measure_archive(archive.drop("ts"), traffic()))
    assert list(without_time) == ["columns_declared"]


@pytest.mark.usefixtures("small_blocks")
def test_a_range_of_seqs_is_judged_with_the_tuple_before_it(spark: SparkSession) -> None:
    tuples = [*sound(2), tuple_at(3, arrived_at=at(9)), *sound()[3:], tuple_at(6, **{"seg-id": 3})]
    archive = archive_of(spark, [tuple_at(1, **{"seg-id": 2}), *tuples])  # 1 and 6 come twice
    inside = failed(measure_archive(archive, traffic(), SeqRange(4, 5)))
    assert [(name, fact.failures) for name, fact in inside.items()] == [("arrival_ordered", 1)]
    assert inside["arrival_ordered"].examples[0]["previous_arrived_at"] == "2026-01-01T12:00:09.000000Z"
    after = failed(measure_archive(archive, traffic(), SeqRange(5, 8)))
    assert {name: fact.failures for name, fact in after.items()} == {"seq_dense": 2, "seq_unique": 1}
    assert after["seq_dense"].examples == ({"missing_from": 7, "missing_to": 8},)
    assert failed(measure_archive(archive, traffic(), SeqRange(7, 6))) == {}


def test_a_key_with_the_timestamp_is_compared_with_earlier_arrivals(spark: SparkSession) -> None:
    archive = archive_of(spark, [*sound(), tuple_at(7, ts=at(1.5)), tuple_at(8, ts=at(1.5))])
    fact = measure_key(archive, traffic(), SeqRange(7))
    assert (fact.checked, fact.failures) == (2, 2)
    assert fact.examples[0]["first_seq"] == 2
    by_segment = traffic(key=["seg-id"])
    fact = measure_key(archive, by_segment, SeqRange(8))
    assert (fact.checked, fact.failures) == (1, 0)
    assert fact.invariant.words == "The declared key (seg-id) is unique among seq 8 on."
    assert measure_key(archive, by_segment, SeqRange()).failures == 7


@pytest.mark.parametrize(
    ("attribute_type", "ends", "values", "failures"),
    [
        ("timestamp", {"from": "2026-01-01 12:00:00"}, "timestamp'2026-01-01 11:59:59.999999Z'", 1),
        ("timestamp", {"to": datetime(2026, 1, 1, 12)}, "timestamp'2026-01-01 12:00:00Z'", 0),
        ("decimal(5,2)", {"to": 0.125}, "0.13", 1),
        ("integer", {"from": 0.5}, "0", 1),
        ("string", {"from": "b", "to": "d"}, "'c'", 0),
    ],
)
def test_ends_of_ranges_are_exact_in_every_type(
    spark: SparkSession, attribute_type: str, ends: dict[str, Any], values: str, failures: int
) -> None:
    from expectations.ranges import breaks_range

    attributes = {"v": attribute_type, "ts": "timestamp"}
    stream = declare_stream(
        {"stream": "S", "attributes": attributes, "timestamp": "ts", "ranges": {"v": ends}}
    )
    rows = spark.sql(f"SELECT cast({values} AS {attribute_type}) AS v")
    assert rows.where(breaks_range(stream.ranges[0])).count() == failures


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.usefixtures("small_blocks")
def test_differential_counts_in_blocks_equal_counts_in_one_sorted_list(
    spark: SparkSession, seed: int
) -> None:
    dice = random.Random(seed)
    positions = sorted((dice.randint(1, 20), dice.randint(1, 20)) for _ in range(15))
    shuffled = dice.sample(positions, len(positions))
    archive = archive_of(spark, [tuple_at(seq, arrived_at=at(arrived)) for seq, arrived in shuffled])
    first, last = dice.choice([(1, None), (5, None), (6, 15)])
    pairs = zip([(None, None), *positions], positions, strict=False)
    seen = [(a, b) for a, b in pairs if b[0] >= first and b[0] <= (last or 99)]
    counted = count_in_order(archive, SeqRange(first, last), {})
    assert counted["rows"] == len(seen)
    assert counted["twice"] == sum(a[0] == b[0] for a, b in seen)
    # A range is compared with the tuple just before it only where there is one.
    neighbours = [(a, b) for a, b in seen if a[0] is not None and a[0] >= max(1, first - 1)]
    assert counted["backward"] == sum(b[1] < a[1] for a, b in neighbours)
