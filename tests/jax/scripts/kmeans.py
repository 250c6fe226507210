"""Lloyd's algorithm until nothing changes: a while loop over assignments, with k-means++ for a start."""
import jax
import jax.numpy as jnp

clusters = 5
centres = 6 * jax.random.normal(jax.random.key(0), (clusters, 2))
points = (centres[:, None] + jax.random.normal(jax.random.key(1), (clusters, 60, 2))).reshape(-1, 2)


def distances(means):
    return ((points[:, None] - means[None]) ** 2).sum(-1)


def plus_plus(key):
    def add(means, inputs):
        k, key = inputs
        nearest = jnp.where(jnp.arange(clusters) < k, distances(means), jnp.inf).min(1)
        return means.at[k].set(points[jax.random.categorical(key, jnp.log(nearest))]), None
    means = jnp.zeros((clusters, 2)).at[0].set(points[0])
    return jax.lax.scan(add, means, (jnp.arange(1, clusters), jax.random.split(key, clusters - 1)))[0]


@jax.jit
def lloyd(means):
    def step(state):
        _, assignment, n = state
        counts = jax.ops.segment_sum(jnp.ones(len(points)), assignment, clusters)
        means = jax.ops.segment_sum(points, assignment, clusters) / jnp.maximum(counts, 1)[:, None]
        return assignment, distances(means).argmin(1), n + 1
    first = distances(means).argmin(1)
    return jax.lax.while_loop(lambda s: jnp.any(s[0] != s[1]), step, (-jnp.ones_like(first), first, 0))


_, assignment, rounds = lloyd(jax.jit(plus_plus)(jax.random.key(2)))
print("rounds", rounds, "sizes", jnp.bincount(assignment, length=clusters))
results = {"sizes": jnp.bincount(assignment, length=clusters), "rounds": rounds, "assignment": assignment}
