"""Errors that a user can mend: each says what failed and what to do about it."""

from __future__ import annotations

DEFINITE_NO = 1
NO_ANSWER = 2


class SluiceError(Exception):
    """A problem told in a sentence, with a remedy. The command line prints both and no stack trace."""

    exit_code = NO_ANSWER

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(problem if not remedy else f"{problem}\n{remedy}")
        self.problem = problem
        self.remedy = remedy


class GateClosed(SluiceError):
    """A quality gate said no: a definite answer, unlike a usage mistake."""

    exit_code = DEFINITE_NO
