"""From sums to standings: against scipy, exact fractions and plain numpy."""
