"""From tallies to standings: means, intervals, paired differences, ranks."""
