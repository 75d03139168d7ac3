"""Files and frames to batches of lists, and back.

In: paths, folders, patterns and tables in memory, with `ReadOptions`. Out: batches of the same cases of several tables
as columns of Arrow, `TopLists` with the metadata of their cases, and files of lists. Imports `scoring`, `lists`, `core`
and the root modules; nothing here computes a score.
"""
