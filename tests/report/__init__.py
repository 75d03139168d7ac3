"""Leaderboards on paper: what is shown is what was found, whatever the names are."""
