"""The content security policy: nothing is loaded, and only this style and this script count."""

from __future__ import annotations

import base64
import hashlib


def policy(style: str, script: str) -> str:
    """What a browser may use of the page, with the digests of its style and its script.

    >>> policy("", "").split("; ")[0]
    "default-src 'none'"
    """
    return (
        f"default-src 'none'; style-src '{digest(style)}'; script-src '{digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def digest(text: str) -> str:
    """SHA-256 as policies write it.

    >>> digest("")
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
    """
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
