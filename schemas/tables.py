"""Table contracts: the columns, comments and constraints of every table of a lakehouse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from schemas.columns import quoted
from schemas.stream import Stream

# Archives and ledgers are read at pinned versions for years: Delta refuses versions older than these.
KEPT_FOR_YEARS = {
    "delta.deletedFileRetentionDuration": "interval 3650 days",
    "delta.logRetentionDuration": "interval 3650 days",
}


@dataclass(frozen=True)
class Column:
    name: str
    type: str
    comment: str = ""
    nullable: bool = True


@dataclass(frozen=True)
class TableContract:
    """What a table promises: its columns, CHECK constraints by name, and Delta properties."""

    comment: str
    columns: tuple[Column, ...]
    checks: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    partitioned_by: tuple[str, ...] = ()


def archive_contract(stream: Stream) -> TableContract:
    """One row is one arrived tuple. Append only; files in `seq` order."""
    timestamp = stream.timestamp
    return TableContract(
        comment=f"Stream {stream.name}, exactly as it arrived",
        columns=(
            Column("seq", "bigint", "arrival position: dense, from 1", nullable=False),
            Column("arrived_at", "timestamp", "when it arrived; never goes back", nullable=False),
            *(
                Column(a.column, a.type, f"attribute {a.name}", nullable=a != timestamp)
                for a in stream.attributes
            ),
            Column("source_file", "string", "the file it came from"),
            Column("source_line", "bigint", "its line (or row) in that file, from 1"),
        ),
        checks={"seq_from_1": "seq >= 1"},
        properties={
            "delta.appendOnly": "true",
            # Replays read by seq and gates by time: statistics on these make both skip files.
            "delta.dataSkippingStatsColumns": f"seq,arrived_at,{quoted(timestamp.column)}",
            **KEPT_FOR_YEARS,
        },
    )


def punctuations_contract(stream: Stream) -> TableContract:
    """One row is one archived punctuation, standing between tuple `seq` and the next."""
    return TableContract(
        comment=f"Punctuations of stream {stream.name}",
        columns=(
            Column("seq", "bigint", "it stands between tuple seq and tuple seq + 1", nullable=False),
            Column("arrived_at", "timestamp", "when it arrived"),
            Column("pattern", "string", "JSON: attribute to constant, list or range", nullable=False),
            Column("source_file", "string", "the file it came from"),
            Column("source_line", "bigint", "its line in that file, from 1"),
        ),
        checks={"seq_from_0": "seq >= 0"},
        properties={"delta.appendOnly": "true", **KEPT_FOR_YEARS},
    )


def quarantine_contract(stream: Stream) -> TableContract:
    """One row is one rejected raw row."""
    return TableContract(
        comment=f"Rows that could not enter stream {stream.name}",
        columns=(
            Column("raw", "string", "the row as it was read"),
            Column("reason", "string", "why it was rejected", nullable=False),
            Column("source_file", "string", "the file it came from"),
            Column("source_line", "bigint", "its line (or row) in that file, from 1"),
            Column("ingested_at", "timestamp", "when it was rejected"),
        ),
        properties=KEPT_FOR_YEARS,
    )


def results_contract(
    groups: Sequence[Column],
    values: Sequence[Column],
    window_type: str,
    physical: bool,
) -> TableContract:
    """One row is one answer. `window_type` is the windowing attribute's type."""
    lifetime = (
        (
            Column("admitted", "bigint", "current from the admission of this row", nullable=False),
            Column("expires_order", "bigint", "… until the admission of this one", nullable=False),
        )
        if physical
        else (
            Column("valid_from", window_type, "current from this instant", nullable=False),
            Column("expires_at", window_type, "… until this one; null: not known at release"),
        )
    )
    lives = "admitted < expires_order" if physical else "expires_at IS NULL OR valid_from < expires_at"
    return TableContract(
        comment="Answers, each with the arrival that released it",
        columns=(
            Column("answer_id", "string", "names the answer in any batching", nullable=False),
            Column("window_id", "bigint", "the window", nullable=False),
            Column("window_start", window_type, "the extent begins here", nullable=False),
            Column("window_end", window_type, "… and ends before here", nullable=False),
            *groups,
            *values,
            Column("sign", "tinyint", "+1 an answer, -1 a negative tuple", nullable=False),
            *lifetime,
            Column("released_seq", "bigint", "the arrival that released it", nullable=False),
            Column("released_at", "timestamp", "when that arrived"),
            Column("batch_id", "bigint", "the micro-batch that released it", nullable=False),
            Column("run_id", "string", "the run that wrote it", nullable=False),
        ),
        checks={
            "signed": "sign IN (1, -1)",
            "ends_after_start": "window_start < window_end",
            "expires_after_valid": lives,
        },
    )


def expirations_contract(groups: Sequence[Column], window_type: str, physical: bool) -> TableContract:
    """One row is one end learned after release."""
    return TableContract(
        comment="Ends of answers that were not known when they were released",
        columns=(
            Column("answer_id", "string", "the answer that ended", nullable=False),
            Column("window_id", "bigint", "its window"),
            *groups,
            Column("ended_order", "bigint", "the admission that ended it")
            if physical
            else Column("ended_at", window_type, "when it ended"),
            Column("reason", "string", "replaced, vanished, negative or admitted", nullable=False),
            Column("released_seq", "bigint", "the arrival that showed it", nullable=False),
            Column("batch_id", "bigint", "the micro-batch of that arrival", nullable=False),
            Column("run_id", "string", "the run that wrote it", nullable=False),
        ),
        checks={"known_reason": "reason IN ('replaced', 'vanished', 'negative', 'admitted')"},
    )


def late_contract(stream: Stream, behind_type: str) -> TableContract:
    """One row is one tuple that missed a window."""
    return TableContract(
        comment="Tuples that came after a window of theirs had closed",
        columns=(
            *(Column(a.column, a.type, f"attribute {a.name}") for a in stream.attributes),
            Column("seq", "bigint", "its arrival position", nullable=False),
            Column("arrived_at", "timestamp", "when it arrived", nullable=False),
            Column("missed_from", "bigint", "the first window it missed", nullable=False),
            Column("missed_to", "bigint", "the last window it missed", nullable=False),
            Column("missed", "bigint", "how many it missed", nullable=False),
            Column("behind", behind_type, "the bound before it, less its value (time: microseconds)"),
            Column("batch_id", "bigint", "the micro-batch it came in", nullable=False),
            Column("run_id", "string", "the run that wrote it", nullable=False),
        ),
        checks={"missed_some": "missed >= 1 AND missed_to - missed_from + 1 = missed"},
    )


def state_contract(groups: Sequence[Column], partials: Sequence[Column]) -> TableContract:
    """One row is an open pane, or a mark of the punctuator; by step, so that a redone step finds its start."""
    return TableContract(
        comment="What the next step begins with",
        columns=(
            Column("step", "bigint", "the micro-batch after which this held", nullable=False),
            Column("kind", "string", "pane or mark", nullable=False),
            *groups,
            Column("first_id", "bigint", "pane: its first window still open"),
            Column("last_id", "bigint", "pane: its last window"),
            *partials,
            Column("mark_pattern", "string", "mark: the groups it is about, all where null"),
            Column("mark_high", "string", "mark: the greatest value so far"),
        ),
        checks={"known_kind": "kind IN ('pane', 'mark')"},
        partitioned_by=("step",),
    )


BATCHES_CONTRACT = TableContract(
    comment="Micro-batches replayed, one row each; written last, so what is here is done",
    columns=(
        Column("query", "string", "the query", nullable=False),
        Column("batch_id", "bigint", "dense, from 1", nullable=False),
        Column("first_seq", "bigint", "first arrival of the micro-batch", nullable=False),
        Column("last_seq", "bigint", "last arrival of it", nullable=False),
        Column("rows_in", "bigint", "rows read", nullable=False),
        Column("rows_used", "bigint", "rows in every window of theirs", nullable=False),
        Column("rows_partly_late", "bigint", "rows that missed some windows", nullable=False),
        Column("rows_late", "bigint", "rows in no window because they came late", nullable=False),
        Column("rows_out_of_range", "bigint", "rows that no window holds", nullable=False),
        Column("rows_filtered", "bigint", "rows that WHERE refused", nullable=False),
        Column("results_written", "bigint", "answers released", nullable=False),
        Column("run_id", "string", "the run", nullable=False),
        Column("finished_at", "timestamp", "when it was done", nullable=False),
    ),
    checks={
        "nothing_lost": "rows_in = rows_used + rows_partly_late + rows_late + rows_out_of_range"
        " + rows_filtered",
        "range_matches": "rows_in = last_seq - first_seq + 1",
    },
    properties=KEPT_FOR_YEARS,
)

RUNS_CONTRACT = TableContract(
    comment="Runs, one row each, written before their first micro-batch",
    columns=(
        Column("run_id", "string", "the run", nullable=False),
        Column("query", "string", "the query", nullable=False),
        Column("query_text", "string", "its text, in one spelling", nullable=False),
        Column("stream", "string", "the stream it reads", nullable=False),
        Column("archive_version", "bigint", "the archive's pinned Delta version", nullable=False),
        Column("punctuations_version", "bigint", "the punctuations' pinned version, where there are any"),
        Column("first_seq", "bigint", "first arrival to replay", nullable=False),
        Column("last_seq", "bigint", "last arrival to replay", nullable=False),
        Column("first_batch", "bigint", "number of its first micro-batch", nullable=False),
        Column("last_batch", "bigint", "number of its last micro-batch", nullable=False),
        Column("batch_rows", "bigint", "rows a micro-batch, where it goes by rows"),
        Column("batch_span", "bigint", "microseconds of arrival a micro-batch, where it goes by span"),
        Column("fuse", "bigint", "micro-batches a Spark job", nullable=False),
        Column("punctuation_first", "boolean", "whether it begins without rows", nullable=False),
        Column("close_at_end", "boolean", "whether windows still open were closed", nullable=False),
        Column("started_at", "timestamp", "when it began", nullable=False),
    ),
    properties=KEPT_FOR_YEARS,
)

VALIDATIONS_CONTRACT = TableContract(
    comment="Outcomes of expectations, one row each",
    columns=(
        Column("validated_at", "timestamp", "when it was checked", nullable=False),
        Column("subject", "string", "the stream or the query", nullable=False),
        Column("suite", "string", "archive or results", nullable=False),
        Column("expectation", "string", "what was expected, in words", nullable=False),
        Column("success", "boolean", "whether it held", nullable=False),
        Column("stops", "boolean", "whether a failure stops the run", nullable=False),
        Column("checked", "bigint", "rows looked at"),
        Column("failures", "bigint", "rows that broke it"),
        Column("examples", "string", "JSON: some of those rows"),
        Column("version", "bigint", "the Delta version that was checked"),
        Column("run_id", "string", "the run that asked, where one did"),
    ),
    properties=KEPT_FOR_YEARS,
)
