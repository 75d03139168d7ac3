"""Assertions about models for test suites, such as those of pytest.

In: predictions, a baseline or its scores, and outcomes. Out: a report, or an `AssertionError` with its text. May import
`evaluation` and what lies below.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from toplist.evaluation.gate import gate
from toplist.inference.settings import as_inference
from toplist.io import Truth, as_truth
from toplist.report.gate import GateReport


def assert_not_worse(
    new: Any,
    baseline: Any,
    truth: Any = None,
    *,
    max_loss: float,
    per_case: float | None = None,
    level: float = 0.95,
    group: Any = None,
    allow_inconclusive: bool = False,
    **options: Any,
) -> GateReport:
    """Assert that a new model is shown to be no worse than a baseline, as `toplist.gate` does.

    Parameters
    ----------
    new, baseline, truth, max_loss, per_case
        As for `gate`. The baseline may be the path of its scores, as `toplist score -o` writes them.
    level : float, default 0.95
        The confidence level of every one-sided bound.
    group : array-like or str, optional
        The group of each case, or the column of the truth with it: the mean of every group is checked too.
    allow_inconclusive : bool, default False
        Whether it is enough that nothing fails.
    **options
        The other arguments of `gate`.

    Returns
    -------
    GateReport
        What was found.

    Raises
    ------
    AssertionError
        With the text of the report, if a check fails, or is inconclusive and that is not allowed.
    TopListError
        If something cannot be read, aligned or scored.

    Examples
    --------
    >>> import numpy as np
    >>> P = np.random.default_rng(0).dirichlet(np.full(5, 0.5), size=400)
    >>> y = np.array([np.random.default_rng(i).choice(5, p=p) for i, p in enumerate(P)])
    >>> assert_not_worse(0.99 * P + 0.002, P, y, max_loss=0.01).verdict
    'pass'
    """
    __tracebackhide__ = True  # pytest shows the line of the test
    if group is not None:
        about = as_truth(truth)
        if about.group is not None:
            raise TypeError("assert_not_worse() got groups twice: in the truth, and as group.")
        truth = Truth(about.data, outcome=about.outcome, **{**about.columns, "group": group}, **about.options)
    inference = replace(as_inference(options.pop("inference", "auto")), level=level)
    found = gate(new, baseline, truth, max_loss=max_loss, per_case=per_case, inference=inference, **options)
    if found.verdict == "fail" or not (found.passed or allow_inconclusive):
        raise AssertionError(str(found))
    return found
