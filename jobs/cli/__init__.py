"""The command line `sluice`. Rows go to stdout, progress and messages to stderr; errors are sentences."""

from __future__ import annotations

import sys

from schemas.errors import NO_ANSWER, SluiceError


def main() -> None:
    """Run the command line; a user's mistake is told without a stack trace."""
    import typer

    from jobs.cli.app import app

    try:
        # Not standalone: that would answer an interruption with 1, which is a definite no.
        sys.exit(app(standalone_mode=False))
    except SluiceError as error:
        print(f"Error: {error.problem}", file=sys.stderr)
        if error.remedy:
            print(error.remedy, file=sys.stderr)
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        print("Interrupted. What the ledger has is done; run it again to go on.", file=sys.stderr)
        sys.exit(130)
    except Exception as error:
        if not hasattr(error, "show"):
            sys.exit(_crash(error))
        error.show()  # a mistake in the command line's words: Typer tells it, and names none of its classes
        sys.exit(NO_ANSWER)


def _crash(error: Exception) -> int:
    """What Spark or the system said, in its first lines; all of it goes to a file."""
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile("w", prefix="sluice-error-", suffix=".log", delete=False) as log:
        log.write(traceback.format_exc())
    said = str(error).strip().splitlines()
    print(f"Error: {type(error).__name__}: {said[0] if said else 'no message'}", file=sys.stderr)
    print(f"This is no mistake we know of. The whole story is in {log.name}.", file=sys.stderr)
    return NO_ANSWER


if __name__ == "__main__":
    main()
