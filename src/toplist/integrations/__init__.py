"""Integrations: padded scores inside other programs, one module per library.

`sklearn` has scorers for model selection, `mlflow` logs leaderboards, `duckdb` and `polars` score in queries. In: the
estimators, runs, connections and columns of these libraries. Out: scores and functions that the libraries use. A module
needs its library where it is used, and nothing else does. May import `report` and what lies below.
"""
