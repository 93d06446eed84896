"""What a query is and how it is replayed, in sentences with their reasons."""

from __future__ import annotations

from schemas.policy import Archive, End, Lateness, SlackRows
from schemas.query import WindowQuery


def explain_query(query: WindowQuery) -> list[tuple[str, str]]:
    """Aspect and answer, in the order in which a reader asks."""
    window, axis = query.window, query.window.axis
    windows_a_tuple = -(-window.range // window.slide)
    groups = ", ".join(group.attribute.name for group in query.groups) or "none"
    slides = (
        "tumbles"
        if window.range == window.slide
        else "leaves gaps"
        if window.range < window.slide
        else "slides"
    )
    first = window.window_ids(window.origin).start
    return [
        ("query", query.text.strip().replace("\n", " ")),
        ("stream", query.stream.name),
        (
            "window",
            f"on {axis.name} ({axis.type}); it {slides}: a tuple is in at most {windows_a_tuple} windows",
        ),
        (
            "window ids",
            f"window {first} is {axis.show(window.start(first))} to {axis.show(window.end(first))}, half-open; "
            + (
                "ids begin at 0"
                if window.begins_at_origin
                else "ids are all integers, counted from 0 on the axis"
            ),
        ),
        ("window class", f"{window.window_class.name}, {window.window_class.value}"),
        ("context needed", "none: neither the tuples before nor those after"),
        ("groups", groups),
        ("update pattern", _update_pattern(query)),
        ("closes", _closing(query)),
        ("late tuples", _lateness(query)),
        (
            "strategy",
            "wid: each tuple is tagged with its range of window ids, aggregated once by group and range, "
            "and the few partials are spread over the windows; no tuple is kept or read twice",
        ),
        (
            "state",
            "partial aggregates by group and range of open windows, and the punctuator's marks; no tuples",
        ),
        (
            "plan",
            "archive → window ids → close table → on time / late → partials by (group, first, last) → "
            "windows → results",
        ),
    ]


def _update_pattern(query: WindowQuery) -> str:
    return (
        "weak non-monotonic: an aggregate's answer ends when the window steps on, which is known at release "
        "(UPDATE, Table 1)"
    )


def _closing(query: WindowQuery) -> str:
    if query.window.axis.is_row_num:
        return "when its last row arrives"
    match query.punctuation:
        case Archive():
            return "when archived punctuations say that nothing below its end can come, group by group where they do"
        case End():
            return "not before the archive ends (--close-at-end)"
        case SlackRows(rows):
            return f"{rows} rows after a tuple at or past its end"
    default = " (neither query nor stream says: the default)" if query.policy_is_default else ""
    return f"at the first tuple at or past its end plus the slack: {query.punctuation}{default}"


def _lateness(query: WindowQuery) -> str:
    if query.window.axis.is_row_num:
        return "there are none: rows arrive in the order of row-num"
    if query.lateness is Lateness.GENEROUS:
        return "GENEROUS: dropped from the windows that are closed, kept in those still open"
    return "CONSISTENT: dropped from all windows once one of them is closed"
