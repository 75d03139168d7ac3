"""Sums, largest values and entries over the classes of logits, whether one device holds all classes or several do."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

Array = jax.Array


@dataclass(frozen=True)
class Vocabulary:
    """The last axis of logits; `axis_name` is the mesh axis over which `shard_map` splits it, if it does.

    Shards hold equally many neighbouring classes, in the order of the mesh axis.
    """

    axis_name: str | None = None

    def width(self, x: Array) -> int:
        """The number of classes of all shards."""
        shards = 1 if self.axis_name is None else int(jax.lax.psum(1, self.axis_name))
        return int(x.shape[-1]) * shards

    def index(self, x: Array) -> Array:
        """The class index of each entry of a row."""
        here = jnp.arange(x.shape[-1])
        return here if self.axis_name is None else here + x.shape[-1] * jax.lax.axis_index(self.axis_name)

    def sum(self, x: Array) -> Array:
        """The sum over the classes."""
        part = jnp.sum(x, axis=-1)
        return part if self.axis_name is None else jax.lax.psum(part, self.axis_name)

    def max(self, x: Array) -> Array:
        """The largest entry, without gradients."""
        part = jax.lax.stop_gradient(x).max(axis=-1)
        return part if self.axis_name is None else jax.lax.pmax(part, self.axis_name)

    def min(self, x: Array) -> Array:
        """The smallest entry, without gradients."""
        part = jax.lax.stop_gradient(x).min(axis=-1)
        return part if self.axis_name is None else jax.lax.pmin(part, self.axis_name)

    def without(self, x: Array, classes: Array) -> Array:
        """Logits with minus infinity at some classes, of which -1 is none."""
        start = 0 if self.axis_name is None else x.shape[-1] * jax.lax.axis_index(self.axis_name)
        here = (classes >= start) & (classes < start + x.shape[-1])

        def of_row(row: Array, places: Array) -> Array:
            return row.at[places].set(-jnp.inf, mode="drop")

        for _ in range(x.ndim - 1):
            of_row = jax.vmap(of_row)
        return of_row(x, jnp.where(here, classes - start, x.shape[-1]))

    def entries(self, x: Array, classes: Array) -> Array:
        """The entries of some classes: `classes` has the shape (..., k), and so has the result."""
        if self.axis_name is None:
            return jnp.take_along_axis(x, classes, axis=-1)
        local = classes - x.shape[-1] * jax.lax.axis_index(self.axis_name)
        here = (local >= 0) & (local < x.shape[-1])
        found = jnp.take_along_axis(x, jnp.where(here, local, 0), axis=-1)
        return jax.lax.psum(jnp.where(here, found, 0), self.axis_name)

    def first(self, x: Array, k: int) -> tuple[Array, Array]:
        """The k largest entries, without gradients, and their classes; ties in the order of classes.

        Zeros must have one sign: -0 comes after 0.
        """
        x = jax.lax.stop_gradient(x)
        if self.axis_name is None:
            values, classes = jax.lax.top_k(x, k)
            return values, classes
        values, places = jax.lax.top_k(x, min(k, x.shape[-1]))
        values, classes = (_beside(part, self.axis_name) for part in (values, self.index(x)[places]))
        values, places = jax.lax.top_k(values, k)
        return values, jnp.take_along_axis(classes, places, axis=-1)


def _beside(part: Array, axis_name: str) -> Array:
    """What all shards hold, one after the other, and known to be the same on each of them."""
    shards, here = int(jax.lax.psum(1, axis_name)), jax.lax.axis_index(axis_name)
    places = jnp.where(jnp.arange(shards)[:, None] == here, part[..., None, :], 0)
    return jax.lax.psum(places, axis_name).reshape(*part.shape[:-1], -1)
