"""One step of a replay: some micro-batches of arrivals through a window query, from state to state.

    arrivals ─▶ window ids ─▶ cells ─▶ punctuator ─▶ close table
                    │                                    │
                    ├── on time ──▶ panes ◀── late but still in an open window
                    │                 │
                    ▼                 ▼
               late tuples     windows closed ─▶ results;  windows open ─▶ state

Each result says which arrival released it, so what a step writes does not depend on where steps begin and end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from jobs.aggregates import Partials
from jobs.lateness import close_windows, judge_late, look_up_closing
from jobs.micro_batches import Cut, MicroBatch, number_batches
from jobs.punctuator import MARKS, Progress, advance_by_archive, advance_by_slack, never_advance, slack_of
from jobs.running import join_null_safe, no_rows
from jobs.window_scope import assign_window_ids, summarise
from schemas.columns import quoted
from schemas.policy import Archive, End
from schemas.query import WindowQuery

_ROWS_A_BLOCK = 4096
_MOST_BLOCKS = 65_536


@dataclass(frozen=True)
class State:
    """What a step begins with: panes still open (`group_0`, …, `first_id`, `last_id`, partials) and marks."""

    panes: DataFrame
    marks: DataFrame


@dataclass(frozen=True)
class BatchCounts:
    """How the rows of one micro-batch ended."""

    rows_in: int = 0
    late: int = 0
    partly_late: int = 0
    out_of_range: int = 0
    filtered: int = 0

    @property
    def used(self) -> int:
        return self.rows_in - self.late - self.partly_late - self.out_of_range - self.filtered


@dataclass(frozen=True)
class Step:
    """What a step makes. The frames are lazy and hang on what `release` lets go of."""

    results: DataFrame
    late: DataFrame | None
    state: State
    counts: dict[int, BatchCounts]
    kept: tuple[DataFrame, ...]

    def release(self) -> None:
        # Last made first: Spark makes the plans of whatever is still kept on top of a frame anew.
        for frame in reversed(self.kept):
            frame.unpersist()


def empty_state(query: WindowQuery, archive: DataFrame) -> State:
    """What a replay begins with: no pane, no mark, of the types that they will have."""
    partials = Partials(query.aggregates)
    groups = {f"group_{place}": F.expr(group.sql) for place, group in enumerate(query.groups)}
    nothing = archive.limit(0).withColumns({**groups, "first_id": F.lit(0), "last_id": F.lit(0)})
    ids = {"first_id": F.col("first_id").cast("bigint"), "last_id": F.col("last_id").cast("bigint")}
    panes = partials.collect(partials.prepare(nothing.withColumns(ids)), *groups, *ids)
    return State(panes, no_rows(archive.sparkSession, MARKS))


class StepRun:
    """Replays one step; its parts share the frames that several of them read."""

    def __init__(
        self,
        query: WindowQuery,
        archive: DataFrame,
        punctuations: DataFrame | None,
        batches: Sequence[MicroBatch],
        cut: Cut,
        close_at_end: bool,
    ) -> None:
        self.query, self.archive, self.punctuations = query, archive, punctuations
        self.batches, self.cut = batches, cut
        # Row windows that are not full stay open whatever ends.
        self.close_all = close_at_end and not query.window.axis.is_row_num
        self.first_seq, self.last_seq = batches[0].first_seq, batches[-1].last_seq
        self.partials = Partials(query.aggregates)
        self.groups = [f"group_{place}" for place in range(len(query.groups))]
        self.kept: list[DataFrame] = []
        rows = max(1, self.last_seq - self.first_seq + 1)
        self.block = max(_ROWS_A_BLOCK, -(-rows // _MOST_BLOCKS))

    def run(self, state: State) -> Step:
        tuples = self._tuples(self.first_seq)
        cells = self._keep(self._cells())
        totals = cells.groupBy("key").agg(
            F.sum("rows"), F.sum("out_of_range"), F.sum("refused"), F.max("high"), F.count("*")
        )
        by_key = {row[0]: row for row in totals.collect()}
        progress = self._progress(cells, by_key, tuples, state)
        self.kept.extend(progress.kept)
        wanted = self._wanted_windows(cells, tuples, state, progress)
        closings = self._keep(close_windows(progress, wanted))
        windows = sum(row[5] for row in by_key.values())
        late = self._late(cells, tuples, closings, progress, windows)
        panes = self._keep(self._panes(tuples, closings, late, progress, windows, state))
        return Step(
            results=self._results(panes, closings, progress),
            late=late,
            state=State(self._open_panes(panes, progress), progress.marks),
            counts=self._count(by_key, late),
            kept=tuple(self.kept),
        )

    def _keep(self, frame: DataFrame) -> DataFrame:
        self.kept.append(frame)
        return frame.persist()

    def _tuples(self, from_seq: int) -> DataFrame:
        inside = self.archive.where(f"seq between {from_seq} and {self.last_seq}")
        named = inside.withColumns(
            {column: F.expr(group.sql) for column, group in zip(self.groups, self.query.groups, strict=True)}
        )
        return assign_window_ids(self.query, named)

    def _held_back(self) -> DataFrame:
        """The step's tuples, and those before it that a slack of rows has held back until now."""
        _, rows = slack_of(self.query)
        return self._tuples(max(1, self.first_seq - rows))

    def _cells(self) -> DataFrame:
        return summarise(self.query, self._held_back(), self.cut, self.first_seq, self.last_seq, self.block)

    def _progress(
        self, cells: DataFrame, by_key: dict[int, Row], tuples: DataFrame, state: State
    ) -> Progress:
        policy = self.query.punctuation
        if self.query.window.axis.is_row_num or not isinstance(policy, Archive | End):
            known = state.marks.select(F.col("mark_high").cast(self.query.window.axis.measure_type)).collect()
            return advance_by_slack(
                self.query,
                cells,
                self._held_back(),
                known[0][0] if known else None,
                max((row[4] for row in by_key.values() if row[4] is not None), default=None),
                self.first_seq,
                self.last_seq,
                self.block,
            )
        if isinstance(policy, End) or self.punctuations is None:
            return never_advance(self.query, self.archive.sparkSession)
        groups = (
            tuples.where("first_id is not null")
            .select(*self.groups)
            .unionAll(state.panes.select(*self.groups))
        )
        return advance_by_archive(
            self.query, self.punctuations, groups.distinct(), state.marks, self.first_seq, self.last_seq
        )

    def _wanted_windows(
        self, cells: DataFrame, tuples: DataFrame, state: State, progress: Progress
    ) -> DataFrame:
        """Windows whose closing is asked for: every first window of a tuple, and all that may close now."""
        if progress.by:
            spans = (
                tuples.where("first_id is not null").select(*progress.by, "first_id", "last_id").distinct()
            )
        else:
            spans = cells.where("first_id is not null").select("first_id", "last_id").distinct()
        closing = spans.unionAll(state.panes.select(*progress.by, "first_id", "last_id"))
        to_close = self._up_to_closed(closing, progress)
        all_of_them = F.explode(F.expr("sequence(first_id, closed_last)"))
        return (
            to_close.select(*progress.by, all_of_them.alias("window_id"))
            .unionAll(spans.select(*progress.by, F.col("first_id").alias("window_id")))
            .distinct()
        )

    def _up_to_closed(self, spans: DataFrame, progress: Progress) -> DataFrame:
        """The spans of windows that have closed by the end of the step, each up to `closed_last`."""
        if self.close_all:
            return spans.withColumn("closed_last", F.col("last_id"))
        if isinstance(progress.closed_to, DataFrame):
            known = join_null_safe(spans, progress.closed_to, progress.by, "inner")
        else:
            known = spans.withColumn("closed_to", F.lit(progress.closed_to).cast("bigint"))
        return (
            known.withColumn("closed_last", F.least("last_id", "closed_to"))
            .where("closed_to is not null and first_id <= closed_last")
            .drop("closed_to")
        )

    def _late(
        self, cells: DataFrame, tuples: DataFrame, closings: DataFrame, progress: Progress, windows: int
    ) -> DataFrame | None:
        """Late tuples, judged and numbered; None if the cells show that there are none."""
        if not progress.by:
            # A row slack's held-back rows have no first window, so that they are never late here.
            suspects = look_up_closing(cells, closings, progress, windows).where("last_seq > closing_seq")
            if suspects.isEmpty():
                return None
        late = look_up_closing(tuples, closings, progress, windows).where("seq > closing_seq")
        judged = judge_late(self.query, self._keep(late.drop("closing_seq")), progress)
        return self._keep(number_batches(judged, self.batches, self.cut))

    def _panes(
        self,
        tuples: DataFrame,
        closings: DataFrame,
        late: DataFrame | None,
        progress: Progress,
        windows: int,
        state: State,
    ) -> DataFrame:
        """Partials by group and range of windows: of tuples on time, of late ones still in a window, of before."""
        key = [*self.groups, "first_id", "last_id"]
        on_time = tuples.where("first_id is not null and passes")
        if late is not None:
            looked_up = look_up_closing(on_time, closings, progress, windows)
            on_time = looked_up.where("closing_seq is null or seq <= closing_seq")
        panes = self.partials.collect(self.partials.prepare(on_time), *key)
        if late is not None:
            remaining = late.where("partly and passes").withColumn("first_id", F.col("open_from"))
            panes = panes.unionByName(self.partials.collect(self.partials.prepare(remaining), *key))
        return panes.unionByName(state.panes)

    def _results(self, panes: DataFrame, closings: DataFrame, progress: Progress) -> DataFrame:
        """The windows that closed, spread from panes, one row a group and window."""
        closed = self._up_to_closed(panes, progress)
        spread = closed.withColumn("window_id", F.explode(F.expr("sequence(first_id, closed_last)")))
        windows = self.partials.merge(spread, *self.groups, "window_id")
        released = self._released(closings)
        if progress.by:
            answers = join_null_safe(windows, released, [*progress.by, "window_id"], "inner")
        else:
            answers = windows.join(F.broadcast(released), "window_id")
        return self._answers(self.partials.finish(answers))

    def _released(self, closings: DataFrame) -> DataFrame:
        """Closed windows with the arrival that released each, and its micro-batch."""
        if self.close_all:
            closings = closings.withColumn("closing_seq", F.coalesce("closing_seq", F.lit(self.last_seq)))
        closed = closings.where("closing_seq is not null").withColumnRenamed("closing_seq", "seq")
        if self._times_are_known:
            timed = closed.withColumnRenamed("released_at", "arrived_at")
        else:
            times = self.archive.where(f"seq between {self.first_seq - 1} and {self.last_seq}")
            timed = closed.drop("released_at").join(times.select("seq", "arrived_at"), "seq", "left")
        return number_batches(timed, self.batches, self.cut).withColumnsRenamed(
            {"seq": "released_seq", "arrived_at": "released_at"}
        )

    @property
    def _times_are_known(self) -> bool:
        _, rows = slack_of(self.query)
        by_tuples = self.query.window.axis.is_row_num or not isinstance(self.query.punctuation, Archive | End)
        return by_tuples and rows == 0 and not self.close_all

    def _answers(self, windows: DataFrame) -> DataFrame:
        """The columns of the results table, all but the run's."""
        window, axis = self.query.window, self.query.window.axis
        shown = windows.withColumns(
            {
                group.column: F.col(column)
                for column, group in zip(self.groups, self.query.groups, strict=True)
            }
        )
        if self.query.having is not None:
            shown = shown.where(self.query.having)
        end, following = window.end_sql("window_id"), window.end_sql("(window_id + 1L)")
        lifetime = (
            [
                F.expr(f"{end} - 1L").alias("admitted"),
                F.expr(f"{following} - 1L").alias("expires_order"),
            ]
            if axis.is_row_num
            else [
                F.expr(axis.value_sql(end)).alias("valid_from"),
                F.expr(axis.value_sql(following)).alias("expires_at"),
            ]
        )
        return shown.select(
            self._answer_id().alias("answer_id"),
            "window_id",
            F.expr(axis.value_sql(window.start_sql("window_id"))).alias("window_start"),
            F.expr(axis.value_sql(end)).alias("window_end"),
            *(F.col(quoted(group.column)) for group in self.query.groups),
            *(F.expr(output.sql).alias(output.column) for output in self.query.outputs),
            F.lit(1).cast("tinyint").alias("sign"),
            *lifetime,
            "released_seq",
            "released_at",
            "batch_id",
        )

    def _answer_id(self) -> Column:
        """Window id and group, in one text: what a value could be mistaken for is escaped."""
        escaped = (
            f"coalesce(replace(replace(cast({column} as string), '\\\\', '\\\\\\\\'), '|', '\\\\|'), '\\\\N')"
            for column in self.groups
        )
        return F.expr(
            f"concat_ws('|', window_id, {', '.join(escaped)})" if self.groups else "cast(window_id as string)"
        )

    def _open_panes(self, panes: DataFrame, progress: Progress) -> DataFrame:
        """Panes that a later step still needs, without the windows that are done: the same however we got here."""
        if self.close_all:
            return panes.limit(0)
        if isinstance(progress.closed_to, DataFrame):
            known = join_null_safe(panes, progress.closed_to, progress.by)
        else:
            known = panes.withColumn("closed_to", F.lit(progress.closed_to).cast("bigint"))
        remaining = known.where("closed_to is null or last_id > closed_to").withColumn(
            "first_id", F.expr("greatest(first_id, closed_to + 1)")
        )
        return self.partials.merge(remaining, *self.groups, "first_id", "last_id")

    def _count(self, by_key: dict[int, Row], late: DataFrame | None) -> dict[int, BatchCounts]:
        """How rows ended, by micro-batch. Lateness is judged before WHERE."""
        missed: dict[int, tuple[int, int, int]] = {}
        if late is not None:
            counted = late.groupBy("batch_id").agg(
                F.expr("count_if(not partly)"), F.expr("count_if(partly)"), F.expr("count_if(not passes)")
            )
            missed = {row[0]: (row[1], row[2], row[3]) for row in counted.collect()}
        counts = {}
        for batch in self.batches:
            rows = out_of_range = refused = 0
            if batch.rows and batch.key in by_key:
                _, rows, out_of_range, refused, *_ = by_key[batch.key]
            not_in_time, partly, refused_late = missed.get(batch.batch_id, (0, 0, 0))
            counts[batch.batch_id] = BatchCounts(
                rows, not_in_time, partly, out_of_range, refused - refused_late
            )
        return counts
