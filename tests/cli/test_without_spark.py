"""Commands that answer at once: help, init, explain, and the mistakes that need no Spark to be found."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from jobs.cli.app import app

REPO = Path(__file__).resolve().parents[2]
COMMANDS = sorted(get_command(app).commands)  # type: ignore[attr-defined]
HEAVY = ("pyspark", "great_expectations", "delta", "pandas")


def run_light(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """`sluice …` in a process of its own, whose last line on stderr names the heavy modules that it loaded."""
    code = (
        "import sys, atexit\n"
        f"atexit.register(lambda: print('loaded:', *[m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr))\n"
        f"sys.argv = ['sluice', *{list(arguments)!r}]\n"
        "from jobs.cli import main\n"
        "main()\n"
    )
    return subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli") / "traffic"
    made = run_light("init", str(folder), cwd=folder.parent)
    assert made.returncode == 0, made.stderr
    assert made.stdout == ""
    assert "Next: sluice generate" in made.stderr
    assert made.stderr.splitlines()[-1].strip() == "loaded:"
    return folder


def test_help_of_every_command_has_an_example_and_loads_nothing_heavy(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = (
        "import sys\n"
        "from jobs.cli.app import app\n"
        f"for command in {COMMANDS!r}:\n"
        "    try:\n"
        "        app([command, '--help'])\n"
        "    except SystemExit as done:\n"
        "        assert done.code == 0, command\n"
        "    print('=====')\n"
        f"print('loaded:', *[m for m in {HEAVY!r} if m in sys.modules])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=REPO, capture_output=True, text=True, timeout=120, check=True
    )
    *helps, loaded = ran.stdout.split("=====\n")
    assert len(helps) == len(COMMANDS) >= 13
    for command, said in zip(COMMANDS, helps, strict=True):
        assert f"Example: sluice {command}" in said, command
        # Every flag but --help has its variable.
        for line in said.splitlines():
            if line.strip().startswith("--") and not line.strip().startswith("--help"):
                assert "SLUICE_" in said
    assert loaded.strip() == "loaded:"


def test_init_makes_a_project_once_and_its_queries_are_sound(project: Path) -> None:
    assert (project / "streams" / "Traffic.yaml").exists()
    assert list((project / "queries").glob("*.cql"))
    again = run_light("init", str(project), cwd=project)
    assert again.returncode == 2
    assert "is a project already" in again.stderr
    assert "Traceback" not in again.stderr


def test_explain_tells_what_and_why_as_one_json_document(project: Path) -> None:
    text = "SELECT count(*) FROM Traffic [RANGE 10 minutes SLIDE 1 minute WATTR ts]"
    ran = run_light("explain", "--text", text, "-o", "json", "--project", str(project), cwd=project)
    assert ran.returncode == 0, ran.stderr
    told = {row["what"]: row["answer"] for row in json.loads(ran.stdout)}
    assert told["stream"] == "Traffic"
    assert "CF" in told["window class"]
    assert "at most 10 windows" in told["window"]
    assert "weak non-monotonic" in told["update pattern"]
    assert ran.stderr.splitlines()[-1].strip() == "loaded:"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("explain", "--text", "SELECT count(* FROM Traffic"), ("line 1, column", "^")),
        (
            ("explain", "--text", "SELECT count(*) FROM Trafic [RANGE 1 hour SLIDE 1 hour]"),
            ("Did you mean Traffic?", "^"),
        ),
        (("explain",), ("Explain what?",)),
        (("explain", "nosuchquery"), ("There is no query nosuchquery", "queries/*.cql")),
        (("generate", "Trafic", "--out", "x.csv"), ("cannot generate Trafic", "Traffic")),
        (("explain", "q", "--project", "/nowhere"), ("is no project", "sluice init")),
    ],
)
def test_mistakes_are_sentences_with_a_remedy_and_exit_2(
    project: Path,
    arguments: tuple[str, ...],
    said: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from jobs.cli import main

    if arguments[0] == "explain" and "--project" not in arguments:
        arguments = (*arguments, "--project", str(project))
    monkeypatch.setattr(sys, "argv", ["sluice", *arguments])
    with pytest.raises(SystemExit) as done:
        main()
    told = capsys.readouterr()
    assert done.value.code == 2
    assert told.out == ""
    for words in said:
        assert words in told.err
    assert "Traceback" not in told.err


def test_usage_mistakes_exit_2(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from jobs.cli import main

    for arguments in (["replay", "q", "--batch-rows", "0"], ["nosuchcommand"], ["show", "q", "-o", "xml"]):
        monkeypatch.setattr(sys, "argv", ["sluice", *arguments])
        with pytest.raises(SystemExit) as done:
            main()
        assert done.value.code == 2, arguments
        assert "Traceback" not in capsys.readouterr().err


def test_queries_lists_those_that_cannot_be_replayed(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from jobs.cli import main

    odd = project / "queries" / "odd.cql"
    odd.write_text("SELECT count(*) FROM Traffic [NOW]")
    try:
        monkeypatch.setattr(sys, "argv", ["sluice", "queries", "-o", "json", "--project", str(project)])
        with pytest.raises(SystemExit) as done:
            main()
    finally:
        odd.unlink()
    assert not done.value.code
    listed = {row["query"]: row["problem"] for row in json.loads(capsys.readouterr().out)}
    assert "not there yet" in listed.pop("odd")
    assert set(listed.values()) == {None}
