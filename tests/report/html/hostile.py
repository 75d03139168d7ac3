"""Names that somebody might give a model."""

HOSTILE = {
    "script": "<script>alert('xss')</script>",
    "closing": "</title></style></script><script>alert(1)</script><!--",
    "attribute": '" onfocus="alert(1)" autofocus=\'',
    "template": "{{ config }}{% for x in y %}",
    "formula": '=HYPERLINK("x";"y")',
    "reversed": "gpj.\u202eexe \u2066hidden\u2069",
    "escape": "red\x1b[31m\x00\x07",
    "hebrew": "\u05de\u05d5\u05d3\u05dc 7",
    "surrogate": "\udc80 lone",
    "long": "ab<" * 3400,
    "accents": "z" + "\u0334\u0301" * 40,
    "blank": "  ",
    "empty": "",
}
