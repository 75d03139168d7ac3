"""How each producer was checked: `python -m tests.io.producers.checked` writes the table into docs/producers.md."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from toplist._text import NOTHING
from toplist.io.producers import PRODUCERS

HERE = Path(__file__).parent
TRANSCRIPTS = HERE.parents[1] / "transcripts"
PAGE = HERE.parents[2] / "docs" / "producers.md"
BEGIN, END = "<!-- checked: made by python -m tests.io.producers.checked -->", "<!-- /checked -->"


@dataclass(frozen=True, slots=True)
class Check:
    """What a test reads: the output of a package that is installed for it, or samples in a documented shape."""

    test: str  # a file beside this one, or transcripts
    package: str = ""  # as its index calls it; none where it cannot be run without a network, a licence or a GPU
    imported: str = ""  # as Python calls it
    damaged: str = ""  # the file in which samples are damaged at random

    @property
    def kind(self) -> str:
        """How it was checked, in words."""
        shape = f"real output of {self.package}" if self.package else "documented shape"
        return f"{shape}, also damaged at random" if self.damaged else shape

    @property
    def version(self) -> str:
        """The version of the package that is installed; a dash where there is none."""
        return metadata.version(self.package) if self.package else NOTHING


CHECKS = {
    "lm-eval": Check("test_lm_eval.py", "lm-eval", "lm_eval", damaged="test_damaged.py"),
    "inspect-ai": Check("test_inspect_ai.py", "inspect-ai", "inspect_ai", damaged="test_damaged.py"),
    "lighteval": Check("test_lighteval.py", "lighteval", "lighteval", damaged="test_damaged.py"),
    "mmlu": Check("mmlu.txt", damaged="test_damaged.py"),
    "every-eval-ever": Check("every_eval_ever.txt", damaged="test_damaged.py"),
    "openai": Check("test_servers.py", damaged="test_damaged.py"),
    "openai-batch": Check("test_servers.py", damaged="test_damaged.py"),
    "openai-responses": Check("test_servers.py", damaged="test_damaged.py"),
    "openai-legacy": Check("test_servers.py", damaged="test_damaged.py"),
    "vllm": Check("test_vllm.py", damaged="test_damaged.py"),
    "sglang": Check("test_servers.py", damaged="test_damaged.py"),
    "ollama": Check("test_servers.py", damaged="test_damaged.py"),
    "llama-cpp": Check("test_servers.py", damaged="test_damaged.py"),
    "gemini": Check("test_servers.py", damaged="test_damaged.py"),
    "gemini-batch": Check("test_servers.py", damaged="test_damaged.py"),
    "transformers": Check("test_transformers.py", "transformers", "transformers", damaged="test_damaged.py"),
    "timm": Check("test_timm.py", "timm", "timm", damaged="test_damaged.py"),
    "fasttext": Check("test_fasttext.py", "fasttext", "fasttext", damaged="test_fasttext.py"),
    "speciesnet": Check("species.txt", damaged="test_damaged.py"),
    "plantnet": Check("species.txt", damaged="test_damaged.py"),
    "hubverse": Check("test_hubverse.py", damaged="test_hubverse.py"),
    "metaculus": Check("metaculus.txt", damaged="test_damaged.py"),
}


def rows(page: str) -> list[list[str]]:
    """The rows of the table on a page, cell by cell."""
    lines = page.partition(BEGIN)[2].partition(END)[0].strip().splitlines()[2:]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]


def table() -> str:
    """The table as it is with what is installed."""
    lines = ["| `--from` | files of | how it was checked | version |", "| --- | --- | --- | --- |"]
    lines += [
        f"| `{name}` | {PRODUCERS[name].title} | {check.kind} | {check.version} |" for name, check in CHECKS.items()
    ]
    return "\n".join(lines)


def main() -> None:
    """Write the table into the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
