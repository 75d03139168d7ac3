"""Results as text, markup, JSON, figures and one HTML page.

Results of `toplist.inference` and `toplist.calibration` come in; strings, records and figures go out. Every sentence is
made once, in `statements`. It imports nothing of `toplist.evaluation` and the command line, which print with it.
"""
