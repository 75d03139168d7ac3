"""Short texts of known language: the strings of Django's translation files."""

import random
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

import polib

SHORTEST = 20

# Locales whose folder name is the language code that is used here.
PLAIN = """
    af am ar ast az be bg bn br bs ca ckb cs cy da de dsb el eo es et eu fa fi fr fy ga gd gl he hi hr hsb hu hy ia id
    ig io is it ja ka kab kk km kn ko ky lb lt lv mk ml mn mr ms my ne nl nn os pa pl pt ro ru sk sl sq sr sv sw ta te
    tg th tk tr tt udm ug uk ur uz vi
"""

# The others. Regions and scripts of one language count as that language; Bokmål is what the models call "no".
RENAMED = {
    "ar_DZ": "ar",
    "de_CH": "de",
    "es_AR": "es",
    "es_CO": "es",
    "es_MX": "es",
    "es_NI": "es",
    "es_PR": "es",
    "es_VE": "es",
    "fr_BE": "fr",
    "fr_CA": "fr",
    "fr_CH": "fr",
    "nb": "no",
    "pt_BR": "pt",
    "sr_Latn": "sr",
    "zh_Hans": "zh",
    "zh_Hant": "zh",
}

# English is the language that is translated from: its files are empty or repeat the source.
DROPPED = {"en", "en_AU", "en_CA", "en_GB", "en_IE"}

LANGUAGES = {**{locale: locale for locale in PLAIN.split()}, **RENAMED}

SCRIPTS = {
    "Latin": ["LATIN"],
    "Cyrillic": ["CYRILLIC"],
    "Arabic": ["ARABIC"],
    "CJK": ["CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL"],
    "Brahmic": [
        *["DEVANAGARI", "BENGALI", "GURMUKHI", "TAMIL", "TELUGU", "KANNADA", "MALAYALAM"],
        *["THAI", "KHMER", "MYANMAR"],
    ],
}
SCRIPT_OF = {prefix: script for script, prefixes in SCRIPTS.items() for prefix in prefixes}

PLACEHOLDER = re.compile(r"%\([^)]*\)[a-z]|%[a-z]|\{[^}]*\}|<[^>]*>|&\w+;|https?://\S+|\S+@\S+")


@dataclass(frozen=True)
class Case:
    """A text and the language that it is written in."""

    name: str
    language: str
    script: str
    text: str


def language_of(locale: str) -> str | None:
    """The language of a locale folder, None for English."""
    if locale in DROPPED:
        return None
    if locale not in LANGUAGES:
        raise KeyError(f"the locale {locale!r} has no language yet: add it to {Path(__file__).name}")
    return LANGUAGES[locale]


def letters(text: str) -> list[str]:
    """The letters of a text outside placeholders and markup, with the marks that belong to them."""
    return [c for c in PLACEHOLDER.sub(" ", text) if unicodedata.category(c)[0] in "LM"]


def script_of(text: str) -> str:
    """The script of a text: Latin only if fewer than a fifth of its letters are from another one.

    Names and code are in Latin letters in every language.
    """
    prefixes = Counter(unicodedata.name(letter, "?").split()[0] for letter in letters(text))
    groups: Counter[str] = Counter()
    for prefix, count in prefixes.items():
        groups[SCRIPT_OF.get(prefix, "other")] += count
    latin = groups.pop("Latin", 0)
    return max(sorted(groups), key=groups.__getitem__) if 4 * groups.total() >= latin else "Latin"


def strings(django: Path) -> Iterator[tuple[str, str]]:
    """Every translated string of Django with its language, long enough and more than placeholders."""
    catalogs = [*django.glob("conf/locale/*/LC_MESSAGES/*.po"), *django.glob("contrib/*/locale/*/LC_MESSAGES/*.po")]
    for path in sorted(catalogs):
        language = language_of(path.parent.parent.name)
        if language is None:
            continue
        for entry in polib.pofile(str(path)).translated_entries():
            text = " ".join(entry.msgstr.split())
            untranslated = text == " ".join(entry.msgid.split())
            if not untranslated and len(text) >= SHORTEST and 2 * len(letters(text)) >= len(text):
                yield language, text


def pools() -> dict[str, list[str]]:
    """The distinct strings of each language, sorted; a string that two languages share is left out."""
    seen: dict[str, set[str]] = defaultdict(set)
    with as_file(files("django")) as django:
        for language, text in strings(django):
            seen[text].add(language)
    found: dict[str, list[str]] = defaultdict(list)
    for text, languages in sorted(seen.items()):
        if len(languages) == 1:
            found[min(languages)].append(text)
    return dict(sorted(found.items()))


def shares(sizes: dict[str, int], cases: int) -> dict[str, int]:
    """How many strings each language gives: as equal as the sizes allow, `cases` in all."""
    taken: dict[str, int] = {}
    left = cases
    for rank, language in enumerate(sorted(sizes, key=lambda language: (sizes[language], language))):
        taken[language] = min(sizes[language], left // (len(sizes) - rank))
        left -= taken[language]
    return taken


def sample(cases: int, seed: int) -> list[Case]:
    """A seeded sample, balanced over languages; a larger one holds a smaller one."""
    found = pools()
    taken = shares({language: len(texts) for language, texts in found.items()}, cases)
    drawn = []
    for language, texts in found.items():
        random.Random(f"{seed} {language}").shuffle(texts)  # noqa: S311 (a sample, not a secret)
        for number, text in enumerate(texts[: taken[language]], start=1):
            drawn.append(Case(f"{language}-{number:04d}", language, script_of(text), text))
    return drawn
