"""Gates end to end on a lakehouse: outcomes kept, told in Data Docs, and which rows made one fail."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from expectations.gate import ResultPaths, check_archive, check_results, require
from expectations.invariant import Fact, Invariant
from lakehouse import delta_table
from lakehouse.layout import Lakehouse
from schemas.errors import DEFINITE_NO, GateClosed, SluiceError
from schemas.stream import Stream, declare_stream
from schemas.tables import BATCHES_CONTRACT, Column, archive_contract, results_contract


@pytest.fixture(scope="module")
def traffic() -> Stream:
    return declare_stream(
        {
            "stream": "Traffic",
            "attributes": {"seg-id": "integer", "speed": "double", "ts": "timestamp"},
            "timestamp": "ts",
            "arrival": {"time": "received_at"},
            "key": ["seg-id", "ts"],
            "ranges": {"speed": {"from": 0, "to": 200}},
        }
    )


def append_tuples(spark: SparkSession, path: str, first: int, last: int, **changes: str) -> None:
    """Tuple n arrives n seconds after 12:00."""
    columns = {
        "seq": "id",
        "arrived_at": "timestamp'2026-01-01 12:00:00' + make_dt_interval(0, 0, 0, id)",
        "seg-id": "1",
        "speed": "50D",
        "ts": "timestamp'2026-01-01 12:00:00' + make_dt_interval(0, 0, 0, id)",
        "source_file": "'a.csv'",
        "source_line": "id",
        **changes,
    }
    rows = spark.range(first, last + 1, 1, 1).selectExpr(*(f"{v} AS `{c}`" for c, v in columns.items()))
    delta_table.append(rows, path, (f"test-{first}-{last}-{changes}", 0))


def text_of(page: Path) -> str:
    return html.unescape(re.sub(r"<[^>]+>", " ", page.read_text(encoding="utf-8")))


def newest_page(lakehouse: Lakehouse, suite: str) -> str:
    pages = Path(lakehouse.data_docs().removeprefix("file://")).glob(f"validations/{suite}/**/*.html")
    return text_of(max(pages, key=lambda page: page.stat().st_mtime_ns))


@pytest.fixture(scope="module")
def broken_archive(
    spark: SparkSession, traffic: Stream, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Lakehouse, int]:
    """An archive that is sound up to the version given beside it, and then is not."""
    lakehouse = Lakehouse.at(str(tmp_path_factory.mktemp("lakehouse")))
    path = lakehouse.archive("Traffic")
    delta_table.ensure(spark, path, archive_contract(traffic))
    append_tuples(spark, path, 1, 6)
    sound = delta_table.latest_version(spark, path)
    append_tuples(spark, path, 7, 8, speed="if(id = 8, 250D, 50D)")
    append_tuples(spark, path, 9, 9, ts="timestamp'2026-01-01 13:00:00'")
    return lakehouse, sound


def test_a_failing_gate_says_which_rows_and_exits_1(
    spark: SparkSession,
    traffic: Stream,
    broken_archive: tuple[Lakehouse, int],
    capfd: pytest.CaptureFixture[str],
) -> None:
    lakehouse, sound = broken_archive
    report = check_archive(spark, lakehouse, traffic, version=sound, run_id="r1")
    require(report)
    assert report.passed
    assert report.failed == []

    report = check_archive(spark, lakehouse, traffic, run_id="r2")
    with pytest.raises(GateClosed) as closed:
        require(report)
    assert closed.value.exit_code == DEFINITE_NO
    said = str(closed.value)
    assert "The archive of stream Traffic did not pass its gate" in said
    assert "speed is from 0 to 200. Broken by 1 (of 9 checked):" in said
    assert '"seq": 8' in said
    assert '"speed": 250.0' in said
    assert "`sluice check Traffic`" in said
    # A clock that is ahead is told, and stops nothing.
    assert [(o.expectation, o.stops) for o in report.failed] == [
        ("No tuple arrives before its own ts.", False),
        ("speed is from 0 to 200.", True),
    ]
    assert "before its own ts" not in said
    # The range that a nightly gate looks at is what closes it.
    require(check_archive(spark, lakehouse, traffic, first_seq=1, last_seq=7, docs=False))
    assert capfd.readouterr() == ("", "")

    kept = delta_table.read(spark, lakehouse.validations("Traffic"))
    by_run = {
        (r["run_id"], r["version"]): r["n"] for r in kept.groupBy("run_id", "version").agg(_n()).collect()
    }
    assert by_run == {("r1", sound): 8, ("r2", sound + 2): 8, (None, sound + 2): 8}
    row = kept.where("run_id = 'r2' AND NOT success AND stops").collect()
    assert [(r["subject"], r["suite"], r["checked"], r["failures"]) for r in row] == [
        ("Traffic", "archive", 9, 1)
    ]
    assert '"seq": 8' in row[0]["examples"]

    index = Path(str(report.data_docs))
    assert index == Path(lakehouse.data_docs()) / "index.html"
    assert "archive-Traffic" in text_of(index)
    page = newest_page(lakehouse, "archive-Traffic")
    assert "speed is from 0 to 200." in page
    assert "1 of 9 break it" in page
    assert '"speed": 250.0' in page


def _n() -> Any:
    from pyspark.sql.functions import count

    return count("*").alias("n")


def test_results_stand_beside_the_archive_in_one_site(
    spark: SparkSession, broken_archive: tuple[Lakehouse, int]
) -> None:
    lakehouse, _ = broken_archive
    paths = ResultPaths(
        lakehouse.of_query("results", "speeds", "r"), lakehouse.of_query("ledger/batches", "speeds", "r")
    )
    groups = [Column("seg-id", "integer")]
    contract = results_contract(groups, [Column("count", "bigint")], "timestamp", False)
    delta_table.ensure(spark, paths.results, contract)
    with pytest.raises(SluiceError, match="has no table at") as missing:
        check_results(spark, lakehouse, "speeds", paths, ["seg-id"], False)
    assert missing.value.remedy == "Run `sluice replay speeds` first."
    delta_table.ensure(spark, paths.batches, BATCHES_CONTRACT)
    require(check_results(spark, lakehouse, "speeds", paths, ["seg-id"], False, docs=False))

    rows = spark.sql(
        "SELECT '0/1' AS answer_id, 0L AS window_id, timestamp'2026-01-01 12:00:00' AS window_start,"
        " timestamp'2026-01-01 12:01:00' AS window_end, 1 AS `seg-id`, 5L AS count, 1Y AS sign,"
        " timestamp'2026-01-01 12:01:00' AS valid_from, timestamp'2026-01-01 12:02:00' AS expires_at,"
        " 5L AS released_seq, timestamp'2026-01-01 12:01:05' AS released_at, 1L AS batch_id, 'r1' AS run_id"
    )
    delta_table.append(rows.unionAll(rows), paths.results, ("test", 0))
    ledger = spark.sql(
        "SELECT 'speeds' AS query, 1L AS batch_id, 1L AS first_seq, 5L AS last_seq, 5L AS rows_in,"
        " 5L AS rows_used, 0L AS rows_partly_late, 0L AS rows_late, 0L AS rows_out_of_range,"
        " 0L AS rows_filtered, 2L AS results_written, 'r1' AS run_id, current_timestamp() AS finished_at"
    )
    delta_table.append(ledger, paths.batches, ("test", 0))
    report = check_results(spark, lakehouse, "speeds", paths, ["seg-id"], False, run_id="r1", first_batch=1)
    assert [o.expectation for o in report.failed] == [
        "A group has one answer in a window.",
        "An answer_id names one answer.",
    ]
    with pytest.raises(GateClosed, match=r"sluice replay speeds --fresh"):
        require(report)
    listed = text_of(Path(str(report.data_docs)))
    assert "results-speeds" in listed
    assert "archive-Traffic" in listed


def test_two_validations_in_one_session_keep_their_own_outcomes(spark: SparkSession, tmp_path: Path) -> None:
    from expectations.data_docs import judge_facts

    def fact(name: str, failures: int) -> Fact:
        return Fact(Invariant(name, f"{name} holds."), 10, failures, ({"seq": failures},) * bool(failures))

    one, other = [fact("a", 0), fact("b", 2)], [fact("a", 1), fact("b", 0)]
    for _ in range(2):
        assert judge_facts(spark, one, "archive", "One", None) == {"a": True, "b": False}
        assert judge_facts(spark, other, "archive", "Other", tmp_path) == {"a": False, "b": True}
    # The declaration of a subject may change between two validations.
    assert judge_facts(spark, [fact("c", 0)], "archive", "Other", tmp_path) == {"c": True}


def test_a_lakehouse_at_a_uri_gets_its_site_too(spark: SparkSession, tmp_path: Path) -> None:
    from expectations.data_docs import judge_facts, quality_folder

    lakehouse = Lakehouse.at(tmp_path.as_uri())
    kept = Fact(Invariant("kept", "It is kept."), 3, 0)
    for subject in ("One", "Other"):
        with quality_folder(spark, lakehouse) as quality:
            assert tmp_path not in quality.parents
            judge_facts(spark, [kept], "archive", subject, quality)
    site = tmp_path / "quality" / "data_docs"
    assert len(list(site.glob("validations/**/*.html"))) == 2
    listed = text_of(site / "index.html")
    assert "archive-One" in listed
    assert "archive-Other" in listed
    assert {folder.name for folder in (tmp_path / "quality").iterdir()} == {"gx", "data_docs"}
    assert not (site / "validations" / "validations").exists()


def test_the_site_keeps_the_last_validations(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from expectations import data_docs

    monkeypatch.setattr(data_docs, "_LISTED", 2)
    for subject in ("One", "T.wo", "Three"):
        data_docs.judge_facts(spark, [Fact(Invariant("kept", "Kept."), 3, 0)], "archive", subject, tmp_path)
    listed = text_of(tmp_path / "data_docs" / "index.html")
    assert [name in listed for name in ("archive-T.wo", "archive-Three")] == [True, True]
    assert len(list((tmp_path / "gx" / "validations").rglob("*.json"))) == 2
    pages = [page.as_posix() for page in (tmp_path / "data_docs" / "validations").rglob("*.html")]
    assert len(pages) == 2
    assert not any("archive-One" in page for page in pages)


def test_a_stream_without_an_archive_is_no_failing_gate(
    spark: SparkSession, traffic: Stream, tmp_path: Path
) -> None:
    with pytest.raises(SluiceError, match="has no archive") as missing:
        check_archive(spark, Lakehouse.at(str(tmp_path)), traffic)
    assert not isinstance(missing.value, GateClosed)
    assert missing.value.remedy == "Run `sluice ingest Traffic PATH` first."
