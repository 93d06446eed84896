"""Punctuations: understood and put in one spelling, or told why not; placed between tuples."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from lakehouse.ingest.batch import BadRow
from lakehouse.ingest.punctuation import ArchivedPunctuation, Placement, read_punctuations
from schemas.errors import SluiceError
from tests.ingest.conftest import traffic

STREAM = traffic(attributes={"seg-id": "integer", "price": "decimal(6,2)", "ts": "timestamp", "on": "date"})


def read(*lines: Any) -> list[ArchivedPunctuation | BadRow]:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    return list(read_punctuations(STREAM, io.BytesIO(text.encode())))


def pattern(entry: Any) -> Any:
    [found] = read({"seq": 1, "pattern": entry})
    return json.loads(found.pattern) if isinstance(found, ArchivedPunctuation) else found.reason


def test_patterns_have_one_spelling() -> None:
    assert pattern({"TS": {"to": "2026-01-01 13:00:00+01:00", "to_closed": False}, "Seg-Id": "3"}) == {
        "seg-id": 3,
        "ts": {"to": "2026-01-01T12:00:00Z"},
    }
    assert pattern({"price": [2.5, "1.10", 2.50]}) == {"price": ["1.10", "2.50"]}
    assert pattern(
        {"on": {"from": "2026-01-01", "to": "2026-01-02", "from_open": True, "to_closed": True}}
    ) == {"on": {"from": "2026-01-01", "to": "2026-01-02", "from_open": True, "to_closed": True}}
    assert pattern({}) == {}


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({"seg": 1}, "seg: stream Traffic has no such attribute; did you mean seg-id?"),
        ({"seg-id": "x"}, "seg-id: 'x' is no integer"),
        ({"seg-id": 3000000000}, "seg-id: 3000000000 does not fit integer"),
        ({"seg-id": None}, "seg-id: null is no constant; leave the attribute out for anything"),
        ({"seg-id": []}, "seg-id: an empty list matches nothing"),
        ({"seg-id": {"below": 5}}, "below: no key of a range; it has from, to, from_open, to_closed"),
        ({"seg-id": {"too": 5}}, "too: no key of a range; did you mean to?"),
        ({"seg-id": {}}, "seg-id: a range has a `from`, a `to` or both"),
        ({"seg-id": {"to": 1, "to_closed": 1}}, "seg-id: to_closed is true or false, not 1"),
        ({"seg-id": {"from": 5, "to": 1}}, "seg-id: the range ends before it begins"),
        ({"seg-id": 1, "SEG-ID": 2}, "SEG-ID: given twice"),
        ([1], "pattern: [1] is no mapping of attributes"),
    ],
)
def test_patterns_that_cannot_be_understood(entry: Any, why: str) -> None:
    assert pattern(entry) == why


def test_lines_that_cannot_be_understood() -> None:
    found = read("{", "", [1], {"seq": -1, "pattern": {}}, {"seq": True, "pattern": {}}, {"sek": 1},
                 {"seq": 1, "pattern": {}, "arrived_at": "soon"}, {"seq": 1, "pattern": {}})  # fmt: skip
    assert [row.line for row in found] == [1, 3, 4, 5, 6, 7, 8]
    assert all(isinstance(row, BadRow) for row in found[:-1])
    assert [row.reason for row in found[1:-1] if isinstance(row, BadRow)] == [
        "not a JSON object",
        "seq: -1 is no position of a tuple",
        "seq: true is no position of a tuple",
        "sek: no key of a punctuation; did you mean seq?",
        "arrived_at: 'soon' is no timestamp",
    ]


def at(seq: int, arrived: int | None = None, line: int = 1) -> ArchivedPunctuation:
    return ArchivedPunctuation(seq, "{}", arrived, line, "")


def placed(last_before: int = 2, carried: int | None = 20) -> Placement:
    return Placement(last_before, 4, carried, {3: 30, 4: 40}.get)


def test_a_seq_outside_this_ingest_is_refused() -> None:
    placed().check(at(2), "p.json")
    placed().check(at(4), "p.json")
    with pytest.raises(SluiceError, match=r"p\.json, line 7: the punctuation has seq 1, but tuples up to 2"):
        placed().check(at(1, line=7), "p.json")
    with pytest.raises(SluiceError, match="seq 5, but the last tuple is 4"):
        placed().check(at(5), "p.json")


def test_it_arrives_between_the_tuples_around_it() -> None:
    place = placed()
    assert place.settle(at(2)) == 20
    assert place.settle(at(2, 5)) == 20
    assert place.settle(at(3, 35)) == 35
    assert place.settle(at(3, 33)) == 35
    assert place.settle(at(3, 99)) == 40
    assert place.settle(at(4, 99)) == 99
    assert place.latest == 99


def test_before_the_first_tuple() -> None:
    assert Placement(0, 0, None, {}.get).settle(at(0)) is None
    assert Placement(0, 1, None, {1: 10}.get).settle(at(0)) == 10
    assert Placement(0, 1, None, {1: 10}.get).settle(at(0, 5)) == 5
