"""The check of docstrings finds what is missing; `make lint` runs it on all public names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pytest

import toplist
from tests.package.docstrings import faults, public_names

PACKAGES = sorted(path.parent.name for path in Path(toplist.__file__).parent.glob("*/__init__.py"))


def whole(a: int) -> int:
    """Return a number.

    Parameters
    ----------
    a : int
        Any number.

    Returns
    -------
    int
        The same number.

    Examples
    --------
    >>> whole(1)
    1
    """
    return a


def bare(a: int) -> int:
    """Return a number."""
    return a


def wrong(a: int) -> int:
    """Return a number.

    Parameters
    ----------
    b
        Another number.

    Returns
    -------
    int

    Examples
    --------
    >>> wrong(1)
    1
    """
    return a


@dataclass(frozen=True)
class Partial:
    """A result.

    Attributes
    ----------
    a : int
        A number.
    b
    """

    a: int
    b: int
    c: int

    def method(self, a: int) -> int:
        """Return a number.

        Returns
        -------
        int
            The same number.
        """
        return a


def shared(a: int, b: int) -> int:
    """Return a number.

    Parameters
    ----------
    b : int
        Another number.
    a
        As for `whole`.

    Returns
    -------
    int
        The first number.

    Examples
    --------
    >>> shared(1, 2)
    1
    """
    return a


def codes(value: object) -> set[str]:
    name = f"{__name__}.{getattr(value, '__qualname__', '')}"
    return {fault.name.removeprefix(f"{__name__}.") + " " + fault.code for fault in faults("tests", name)}


def test_a_docstring_with_all_its_sections_passes() -> None:
    assert codes(whole) == set()


def test_parameters_may_be_those_of_another_function() -> None:
    assert codes(shared) == set()


def test_missing_sections_are_found() -> None:
    assert codes(bare) == {"bare PR01", "bare RT01", "bare EX01"}


def test_parameters_that_do_not_exist_and_descriptions_that_are_missing_are_found() -> None:
    assert codes(wrong) == {"wrong PR01", "wrong PR02", "wrong PR04", "wrong RT03"}


def test_fields_that_a_result_does_not_document_and_methods_with_half_their_sections_are_found() -> None:
    assert codes(Partial) == {"Partial PR01", "Partial PR04", "Partial PR07", "Partial.method PR01"}


def test_all_public_functions_and_classes_are_checked_once() -> None:
    names = [name for _, name in public_names()]
    assert len(names) == len(set(names))
    last = {name.rpartition(".")[2] for name in names}
    assert {"score", "compare", "TopLists", "reliability", "linear_pool", "best_sets", "top_beta"} <= last


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_says_what_comes_in_what_goes_out_and_what_it_may_import(package: str) -> None:
    text = import_module(f"toplist.{package}").__doc__ or ""
    words = (
        r"\bin[:,;]",
        r"\bout[:.]",
        r"\bimports?\b",
    )  # "In: ... Out: ... May import ..."
    assert [word for word in words if not re.search(word, text, re.IGNORECASE)] == []
