"""Faults planted by hand, one after the other, in a copy of the project: which of them do the tests not see?

python -m tests.faults            all faults, each against the tests that are nearest to it
python -m tests.faults 3 14      some of them
python -m tests.faults --wide    each against all tests of scoring, lists and core; says which file saw it
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
WIDE = (
    "tests/paper tests/properties tests/oracle tests/core tests/scoring tests/lists "
    "tests/io/test_rounding.py tests/postprocess/test_truncation.py tests/inference/test_diagnostics.py"
)


class Fault(NamedTuple):
    """What stands in a file, what is put in its place, and the tests that must see it."""

    what: str
    file: str  # below src/toplist
    right: str
    wrong: str
    tests: str


FAULTS = (
    Fault(
        "the penalty is added only where all lists are invalid",
        "scoring/scores.py",
        "if invalid.any() and penalty != 0:",
        "if invalid.all() and penalty != 0:",
        "tests/paper/test_section3_top_lists.py",
    ),
    Fault(
        "the penalty is twice as large",
        "scoring/scores.py",
        "_PENALTY = 0.01",
        "_PENALTY = 0.02",
        "tests/paper/test_section5_penalty.py",
    ),
    Fault(
        "lists that rounding alone makes invalid are not cut",
        "scoring/scores.py",
        "return lists.strictly_valid() if rule.padded else lists",
        "return lists.valid() if rule.padded else lists",
        "tests/paper/test_section2_scores.py",
    ),
    Fault(
        "expected scores leave out small masses that a list does not name",
        "scoring/scores.py",
        "out[lo + at] = inner + np.where(apart > 0, apart * unlisted, 0.0)",
        "out[lo + at] = inner + np.where(apart > 0.5, apart * unlisted, 0.0)",
        "tests/paper/test_section2_scores.py",
    ),
    Fault(
        "a divergence takes the entropy of the prediction, not of the truth",
        "scoring/scores.py",
        "- entropy(truth, rule=rule), 0.0))",
        "- entropy(lists, rule=rule), 0.0))",
        "tests/properties/test_brier.py",
    ),
    Fault(
        "the outcome counts among the other unlisted classes",
        "scoring/rules/base.py",
        "part = 1.0 - 1.0 / xp.where(m.hit | lone, xp.inf, m.unlisted)",
        "part = 1.0 - 0.0 / xp.where(m.hit | lone, xp.inf, m.unlisted)",
        "tests/paper/test_section2_scores.py",
    ),
    Fault(
        "powers of the proxy are summed with a wrong exponent of the number of classes",
        "scoring/rules/base.py",
        "+ (1.0 - a) * xp.where(some, m.log_unlisted, 0.0)",
        "+ (1.001 - a) * xp.where(some, m.log_unlisted, 0.0)",
        "tests/paper/test_section2_scores.py",
    ),
    Fault(
        "logarithms of probabilities near 1 lose digits",
        "scoring/rules/base.py",
        "    large = t > 0.5\n",
        "    large = t > 2.0\n",
        "tests/oracle/test_entropies.py",
    ),
    Fault(
        "the Brier score ignores that it was to be halved",
        "scoring/rules/standard.py",
        "s = m.miss * m.miss + others\n        return 0.5 * s if self.scale_by_half else s",
        "return m.miss * m.miss + others",
        "tests/properties/test_brier.py",
    ),
    Fault(
        "powers near 1 are computed by a difference",
        "scoring/rules/standard.py",
        "nothing, near = log_q == -xp.inf, d * unit < _NEAR",
        "nothing, near = log_q == -xp.inf, d * unit < 0.0",
        "tests/oracle/test_exact.py",
    ),
    Fault(
        "a complete list counts as uniform",
        "scoring/rules/standard.py",
        "flat = (size == m.size) & is_even(xp, m.total, m.size)",
        "flat = size == m.size",
        "tests/paper/test_section2_scores.py",
    ),
    Fault("Renyi's score overflows", "scoring/rules/standard.py", "> 600.0)", "> 6000.0)", "tests/oracle/test_huge.py"),
    Fault(
        "large exponents of pseudospherical scores underflow",
        "scoring/rules/standard.py",
        "return self.a > _LARGE",
        "return self.a > 1000",
        "tests/properties/test_numbers.py",
    ),
    Fault(
        "a list cut to a mass ends one class late where rounding reaches it",
        "lists/validation.py",
        "< mass - 1e-12",
        "< mass",
        "tests/scoring/topbeta/test_rule.py",
    ),
    Fault(
        "normalising leaves the logarithm of the rest as it was",
        "lists/validation.py",
        "log_rest=None if rows.log_rest is None else rows.log_rest - np.log(scale),\n        precision",
        "log_rest=rows.log_rest,\n        precision",
        "tests/lists/test_repairs.py",
    ),
    Fault(
        "whole numbers of a file count as rounded",
        "lists/validation.py",
        "amount = np.where(amount < 0.5, amount, 0.0)",
        "amount = np.where(amount <= 0.5, amount, 0.0)",
        "tests/transcripts/test_transcripts.py -k rounding",
    ),
    Fault(
        "lists with a tiny rest are divided by their mass",
        "lists/validation.py",
        "scaled: NDArray[np.bool_] = (self.signed_rest < 0) |",
        "scaled: NDArray[np.bool_] = (self.signed_rest <= 1e-9) |",
        "tests/oracle/test_exact.py",
    ),
    Fault(
        "a class that the truth does not name has probability zero, not the proxy",
        "lists/toplists.py",
        "theirs[order][at] if len(there) else 0.0, truth.proxy[case])",
        "theirs[order][at] if len(there) else 0.0, 0.0)",
        "tests/properties/test_entropy.py",
    ),
    Fault(
        "masses summed from the back leave out the rest",
        "lists/toplists.py",
        "[:, ::-1] + rest[case[where]]",
        "[:, ::-1]",
        "tests/postprocess/test_truncation.py",
    ),
    Fault(
        "classes that tie at the k-th rank count in full",
        "scoring/case_scores.py",
        "np.clip((k - self.above) / np.maximum(self.equal, 1), 0.0, 1.0), 0.0)",
        "np.clip((k - self.above), 0.0, 1.0), 0.0)",
        "tests/scoring/test_hits.py",
    ),
    Fault(
        "tied ranks are not averaged",
        "scoring/case_scores.py",
        "1.0 + above + 0.5 * (equal - 1.0)",
        "1.0 + above",
        "tests/scoring/test_hits.py",
    ),
    Fault(
        "outcomes beyond the last class are taken",
        "lists/converters.py",
        "    if impossible.any():\n",
        "    if impossible.all() and False:\n",
        "tests/lists/test_refusals.py",
    ),
    Fault(
        "the largest valid sublist ends one class early",
        "core/array_api.py",
        "before = xp.cumulative_sum(up, axis=1) - up",
        "before = xp.cumulative_sum(up, axis=1)",
        "tests/paper/test_section3_top_lists.py",
    ),
    Fault(
        "what rounding takes from the miss is lost",
        "core/array_api.py",
        "lost = (1.0 - q) - self.miss",
        "lost = 0.0 * q",
        "tests/oracle/test_exact.py",
    ),
    Fault(
        "logarithms are corrected where they need not be",
        "core/array_api.py",
        "log = xp.where(lossy & (xp.abs",
        "log = xp.where(~lossy & (xp.abs",
        "tests/oracle/test_huge.py",
    ),
    Fault(
        "the largest loss counts the difference once",
        "scoring/bounds.py",
        "found: Floats = squares + 2 * np.subtract(q, p, dtype=np.float64).max(axis=1)",
        "found: Floats = squares + np.subtract(q, p, dtype=np.float64).max(axis=1)",
        "tests/inference/test_diagnostics.py",
    ),
)


def copy_of_project(folder: Path) -> Path:
    """Copy the project; the Python of an environment that imports the copy, with the packages of this one."""
    skipped = shutil.ignore_patterns(".git", ".venv*", "build", "__pycache__", "_build", "node_modules", ".*_cache")
    shutil.copytree(ROOT, folder / "project", ignore=skipped)
    if not list((folder / "project/src/toplist").glob("_kernel*.so")):
        import toplist._kernel

        shutil.copy(toplist._kernel.__file__, folder / "project/src/toplist")
    venv.create(folder / "venv", with_pip=False)
    # A path in a .pth file brings the packages of this environment, but not its own link to the project.
    paths = [folder / "project/src", *(path for path in sys.path if path.endswith("site-packages"))]
    for packages in (folder / "venv").glob("lib/python*/site-packages"):
        (packages / "copy.pth").write_text("\n".join(map(str, paths)) + "\n")
    return folder / "venv/bin/python"


def seen_by(python: Path, project: Path, fault: Fault, tests: str) -> str:
    """The first test that fails with a fault, or nothing."""
    file = project / "src/toplist" / fault.file
    text = file.read_text()
    if text.count(fault.right) != 1:
        sys.exit(f"{fault.file} has {text.count(fault.right)} times: {fault.right!r}. Write the fault anew.")
    file.write_text(text.replace(fault.right, fault.wrong))
    try:
        ended = subprocess.run(
            [python, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests.split()],
            cwd=project,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        file.write_text(text)
    if ended.returncode not in (0, 1):  # the tests did not run
        sys.exit(ended.stdout[-2000:] + ended.stderr[-2000:])
    failed = [line for line in ended.stdout.splitlines() if line.startswith("FAILED")]
    return failed[0].split(" - ")[0].split(maxsplit=1)[1] if failed else ""


def main() -> None:
    """Plant faults, and name those that no test saw."""
    parser = argparse.ArgumentParser(description="Which of the faults planted by hand do the tests not see?")
    parser.add_argument("numbers", nargs="*", type=int, help="of the faults; all without any")
    parser.add_argument("--wide", action="store_true", help="run all tests of scoring, lists and core for each")
    asked = parser.parse_args()
    numbers = asked.numbers or range(len(FAULTS))
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        python = copy_of_project(Path(folder))
        for number in numbers:
            fault = FAULTS[number]
            test = seen_by(python, Path(folder) / "project", fault, WIDE if asked.wide else fault.tests)
            print(f"{number:3} {'seen' if test else 'MISSED':7} {fault.what}  {test}", flush=True)
            if not test:
                missed.append(number)
    print(f"{len(numbers) - len(missed)} of {len(numbers)} faults seen")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
