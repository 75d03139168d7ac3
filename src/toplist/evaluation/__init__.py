"""Evaluation: compare, diagnose and monitor models, and files in, files out.

In: models and a truth, as files or in memory. Out: Leaderboard, Diagnosis, Monitor. May import everything but `cli`.
"""
