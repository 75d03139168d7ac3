"""The command: parse, call, print."""

from __future__ import annotations

import sys


def main() -> None:
    """Run `toplist`."""
    try:
        from toplist.cli.app import app
    except ImportError as error:
        if not (error.name or "").startswith(("typer", "click", "rich", "shellingham")):
            raise
        sys.exit("the command needs typer and rich: pip install 'toplist[cli]'")
    app()
