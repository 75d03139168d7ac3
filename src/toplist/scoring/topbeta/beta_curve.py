"""Curve over beta: mean score, entropy, coverage, mass and length of top-beta lists, against the mass to reach."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from toplist import _html
from toplist._text import fixed, significant
from toplist._typing import Floats
from toplist.core.arguments import as_shares
from toplist.errors import TopListError
from toplist.lists import as_lists
from toplist.lists.converters import as_single_outcomes
from toplist.scoring.case_scores import outcome_ranks
from toplist.scoring.rules.top_beta import TopBeta
from toplist.scoring.scores import entropy, plain_scores
from toplist.scoring.topbeta.functional import top_beta
from toplist.scoring.topbeta.levels import as_level

BETAS: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
_NAMES, _WIDTHS = ("beta", "score", "entropy", "coverage", "mass", "length"), (6, 9, 9, 9, 9, 9)


@dataclass(frozen=True, slots=True, repr=False)
class BetaCurve:
    """Means over the cases, one entry per beta.

    Attributes
    ----------
    betas : ndarray of float
        The masses to reach.
    score : ndarray of float or None
        The mean score of the top-beta lists, from 0 to 1, as the rule `TopBeta` has it; None without outcomes.
    entropy : ndarray of float
        The score that the lists themselves expect.
    coverage : ndarray of float or None
        How often the outcome is listed; None without outcomes.
    mass, length : ndarray of float
        The mean listed mass and the mean number of classes.
    cap : int or None
        Largest length of a list.

    Examples
    --------
    >>> import toplist as tl
    >>> curve(tl.TopLists.from_proba([[0.6, 0.3, 0.1]]), betas=[0.5, 0.9]).length.tolist()
    [1.0, 2.0]
    """

    betas: Floats
    score: Floats | None
    entropy: Floats
    coverage: Floats | None
    mass: Floats
    length: Floats
    cap: int | None = None

    def __repr__(self) -> str:
        values, what = (self.entropy, "entropy") if self.score is None else (self.score, "score")
        told = ", ".join(f"{significant(float(values[i]))} at {self.betas[i]:g}" for i in sorted({0, len(values) - 1}))
        return f"BetaCurve({len(values):,} betas: {what} {told})"

    def __str__(self) -> str:
        lines = [_NAMES, *self._rows()]
        return "\n".join(" ".join(f"{cell:>{w}}" for cell, w in zip(cells, _WIDTHS, strict=True)) for cells in lines)

    def _repr_html_(self) -> str:
        lines = [("entropy", self.entropy.tolist())]
        if self.score is not None:
            lines.insert(0, ("score", self.score.tolist()))
        heads = [_html.TableHead(name, number=True, heading=name == "beta") for name in _NAMES]
        return _html.fragment(
            _html.paragraph("Mean score and entropy of the top-beta lists. Lower is better."),
            _html.line_plot(self.betas.tolist(), lines, "mass to reach, beta", "mean score"),
            _html.folded(f"Table of {len(self.betas):,} betas", _html.table(heads, list(self._rows()))),
        )

    def _rows(self) -> Iterator[list[str]]:
        nothing = np.full(len(self.betas), np.nan)
        score, cover = (nothing if column is None else column for column in (self.score, self.coverage))
        for beta, *values in zip(self.betas, score, self.entropy, cover, self.mass, self.length, strict=True):
            yield [f"{beta:g}", *(fixed(float(x), digits) for x, digits in zip(values, (5, 5, 4, 4, 2), strict=True))]


def curve(
    lists: Any,
    y: Any = None,
    *,
    betas: Iterable[Any] | None = None,
    cap: int | None = None,
    sample_weight: Any = None,
    space: Any = None,
) -> BetaCurve:
    """Score, entropy, coverage, mass and length of top-beta lists, for each beta.

    Scores of one beta are compared with each other: those of another model, or the entropy, which they exceed on
    average where confidences are too large. Scores of different betas are of different lists.

    Parameters
    ----------
    lists : TopLists or anything that `as_lists` takes
        Distributions, or lists that are long enough to determine their top-beta lists for every beta.
    y : array-like, optional
        Outcomes, one per case.
    betas : iterable of float or Fraction, optional
        The masses to reach, each between 0 and 1; eleven from 0.1 to 0.99 by default.
    cap : int, optional
        Largest length of a list.
    sample_weight : array-like, optional
        Weight of each case.
    space : ClassSpace, int or sequence of labels, optional
        The classes, where the predictions do not say how many there are.

    Returns
    -------
    BetaCurve
        The curve; `print` it.

    Examples
    --------
    >>> print(curve([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1]], [0, 0], betas=[0.5, 0.8, 0.95]))
      beta     score   entropy  coverage      mass    length
       0.5   0.36330   0.25824    0.5000    0.6500      1.00
       0.8   0.31647   0.23413    1.0000    0.9000      2.00
      0.95   0.22067   0.17499    1.0000    1.0000      3.00
    """
    batch = as_lists(lists, space)
    if not len(batch):
        raise TopListError("there are no cases to average over.")
    levels = [as_level(beta) for beta in (BETAS if betas is None else betas)]
    if not levels:
        raise TopListError("name at least one beta.")
    codes = None if y is None else as_single_outcomes(y, batch, "a curve over beta needs")
    weight = as_shares(sample_weight, len(batch))
    rows = []
    for level in levels:
        rule, cut = TopBeta(float(level), cap), top_beta(batch, level, cap=cap)
        own = () if codes is None else (plain_scores(cut, codes, rule), outcome_ranks(cut, codes).listed)
        rows.append([float(np.asarray(x) @ weight) for x in (entropy(cut, rule=rule), cut.mass, cut.sizes, *own)])
    expected, mass, length, *own_means = np.array(rows).T
    scores, covered = own_means or (None, None)
    return BetaCurve(np.array([float(x) for x in levels]), scores, expected, covered, mass, length, cap)
