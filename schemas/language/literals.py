"""Constants as Spark SQL: what a query's text can put into a plan, and nothing else.

Every string goes through `quoted_text`. Backslash and quote are escaped for Spark's parser, and so is the
dollar sign: Spark replaces `${…}` in any SQL text by settings and environment variables before it parses it.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

_DATE = r"(\d{4})-(\d{1,2})-(\d{1,2})"
_TIMESTAMP = re.compile(
    _DATE + r"(?:[ T](\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?\s*(Z|UTC|[+-]\d{2}:?\d{2})?)?",
    re.IGNORECASE,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INTEGER_MOST = 2**31 - 1
_BIGINT_MOST = 2**63 - 1


def read_timestamp(text: str) -> datetime | None:
    """The instant that a text names (`2026-01-01 12:00:00.5`, without a zone in UTC), or None."""
    found = _TIMESTAMP.fullmatch(text.strip())
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    try:
        instant = datetime(
            int(year),
            int(month),
            int(day),
            int(hour or 0),
            int(minute or 0),
            int(second or 0),
            int((fraction or "").ljust(6, "0")),
            tzinfo=_zone(zone),
        )
        return instant.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _zone(spelled: str | None) -> timezone:
    if spelled is None or spelled.upper() in ("Z", "UTC"):
        return UTC
    offset = timedelta(hours=int(spelled[1:3]), minutes=int(spelled[-2:]))
    return timezone(-offset if spelled[0] == "-" else offset)


def timestamp_microseconds(text: str) -> int | None:
    """The instant in microseconds since 1970, exactly."""
    instant = read_timestamp(text)
    return None if instant is None else (instant - _EPOCH) // timedelta(microseconds=1)


def read_date(text: str) -> date | None:
    """The day that a text names: `2026-01-31`; None if none, or if it has a time of day too."""
    if re.fullmatch(_DATE, text.strip()) is None:
        return None
    instant = read_timestamp(text)
    return None if instant is None else instant.date()


def timestamp_sql(instant: datetime) -> str:
    """A TIMESTAMP constant that means the instant whatever the session's time zone."""
    return f"TIMESTAMP '{instant.astimezone(UTC).isoformat(sep=' ')}'"


def date_sql(day: date) -> str:
    return f"DATE '{day.isoformat()}'"


def quoted_text(text: str) -> str:
    """A string constant."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024")
    return "'" + escaped.replace("\0", "\\u0000").replace("\n", "\\n").replace("\r", "\\r") + "'"


def number_sql(value: int | Decimal | float) -> tuple[str, str]:
    """A number as SQL, and its type: the least that holds it."""
    if isinstance(value, float):
        return f"{value!r}D", "double"
    if isinstance(value, Decimal):
        _, digits, exponent = value.as_tuple()
        scale = -int(exponent)
        return f"{value:f}BD", f"decimal({max(len(digits), scale, 1)},{scale})"
    if value <= _INTEGER_MOST:
        return str(value), "integer"
    if value <= _BIGINT_MOST:
        return f"{value}L", "bigint"
    return f"{value}BD", f"decimal({len(str(value))},0)"
