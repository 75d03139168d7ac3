"""The command within this process, for what it says and how it ends."""

from __future__ import annotations

from typer.testing import CliRunner

from toplist.cli.app import app


def said(*words: object) -> tuple[int, str]:
    """The exit code, and everything that was printed; of JSON what is printed for machines."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    return done.exit_code, done.stdout if "--json" in words and done.stdout else done.output
