"""Names that Sluice gives to its own columns, and how an attribute of the same name is stored."""

from __future__ import annotations

RESERVED = frozenset(
    """answer_id window_id window_start window_end sign valid_from expires_at admitted expires_order
    released_seq released_at released_stream batch_id run_id ended_at ended_order reason input
    seq arrived_at missed_from missed_to missed behind source_file source_line step kind""".split()
)


def storage_name(name: str) -> str:
    """The column that holds an attribute or an alias: itself, with `_` appended where the name is ours."""
    return f"{name}_" if name.lower() in RESERVED else name


def quoted(name: str) -> str:
    """`name` as an identifier in Spark SQL, whatever it holds."""
    return "`" + name.replace("`", "``") + "`"
