"""Files and frames to batches of lists, and back.

In: paths, folders, patterns and tables in memory, with `ReadOptions`. Out: batches of the same cases of several tables
as columns of Arrow, `TopLists` with the metadata of their cases, and files of lists. Imports `scoring`, `lists`, `core`
and the root modules; nothing here computes a score.

Other packages import from here alone. The names are listed in `__init__.pyi`, and loaded when they are first used.
"""

from toplist._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
