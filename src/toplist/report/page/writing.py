"""A page to a file: whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from typing import Any

from toplist.errors import TopListError
from toplist.report.page.contents import Page
from toplist.report.page.rendering import render


def write(page: Page, path: Any) -> None:
    """Write the page to a file, through a temporary one in the same folder: nobody sees half a page."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise TopListError(f"there is no folder {str(Path(path).parent)!r} to write the report to: make it first.")
    if target.is_dir():
        raise TopListError(f"{str(path)!r} is a folder: name a file in it, such as {str(Path(path) / 'board.html')!r}.")
    content = render(page)
    draft = target.parent / f".toplist-{os.getpid()}-{threading.get_ident()}.tmp"
    try:
        try:
            draft.write_text(content, encoding="utf-8", newline="\n")
            draft.replace(target)
        finally:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
    except OSError as error:
        raise TopListError(f"the report cannot be written to {str(path)!r}: {error.strerror or error}.") from error
