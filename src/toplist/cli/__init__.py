"""The command `toplist`: parse arguments, call a verb, print.

In: arguments of a shell. Out: text or JSON, files, an exit code. May import every package, each when a command runs.
"""

from __future__ import annotations

import sys

try:
    from toplist.cli.app import main
except ImportError as error:
    if not (error.name or "").startswith(("typer", "click", "rich", "shellingham")):
        raise

    def main() -> None:
        """Say what is missing."""
        sys.exit("the command needs typer and rich: pip install 'toplist[cli]'")


__all__ = ["main"]
