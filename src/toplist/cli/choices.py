"""Names that options take, apart from what they name: that takes long to import, and help is fast. A test compares."""

RULES = ("brier", "log", "spherical", "zero-one", "one-vs-rest")
ORDINAL_RULES = ("rps", "rps-normalized", "ranked_log")  # with --ordinal
PADDED_RULES = (*RULES, *ORDINAL_RULES)  # where lists of any length are scored
ALL_RULES = (*PADDED_RULES, "topbeta:BETA")  # where lists are scored as they are
RECALIBRATORS = ("identity", "temperature", "rest-floor", "isotonic")
