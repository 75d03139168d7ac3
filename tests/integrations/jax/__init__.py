"""Lists, scores and losses in JAX."""
