"""Loops in loops: what ends by data inside what is counted or ends by data, with updates at places that data decide."""

import jax, jax.numpy as jnp, jax.scipy.linalg as jsl, numpy as np
from jax import lax


def add_loop_cases(case, floats, integers):
    r = np.random.default_rng(5)

    def newton(x):
        def step(s):
            x, _, i = s
            change = (x**3 - 2 * x - 5) / (3 * x * x - 2)
            return x - change, change, i + 1

        return lax.while_loop(lambda s: (jnp.abs(s[1]) > 1e-6) & (s[2] < 50), step, (x, jnp.float32(1), 0))[0]

    case("newton_batched", jax.vmap(newton), np.linspace(1, 9, 40, dtype=np.float32))
    case("newton_mapped", lambda x: lax.map(newton, x), np.linspace(1, 9, 40, dtype=np.float32))

    def decays(xs, places):
        def one(carry, operands):
            x, at = operands

            def step(s):
                y = (s[0] * 0.8).at[at].add(0.01, mode="drop")
                return jnp.roll(y, 1), s[1] + 1

            y, n = lax.while_loop(lambda s: (jnp.sum(jnp.abs(s[0])) > 3) & (s[1] < 40), step, (x + 0.1 * carry, 0))
            carry = jnp.where(n > 5, carry * 0.5 + y, carry + 0.1 * y)
            return carry.at[n % 9].set(n.astype(jnp.float32)), (y, n)

        return lax.scan(one, jnp.zeros(9), (xs, places))

    case("scan_of_whiles_with_scatters", decays, floats(12, 9), r.integers(-3, 14, (12, 3)).astype(np.int32))

    def sieve(most):
        def strike(p, s):
            rest = lambda s: lax.while_loop(lambda c: c[0] < 500, lambda c: (c[0] + p, c[1].at[c[0]].set(False)), (p * p, s))[1]
            return lax.cond(s[p], rest, lambda s: s, s)

        return lax.fori_loop(2, most, strike, jnp.ones(500, bool).at[:2].set(False))

    case("sieve", sieve, np.int32(23))

    def distances(a, b):
        def row(before, letter):
            def cell(left, c):
                v = jnp.minimum(jnp.minimum(left + 1, c[1] + 1), c[0] + (letter != c[2]))
                return v, v

            _, rest = lax.scan(cell, before[0] + 1, (before[:-1], before[1:], b))
            after = jnp.concatenate([before[:1] + 1, rest])
            return after, after

        return lax.scan(row, jnp.arange(28), a)[1]

    case("edit_distances", distances, integers(30), integers(27))

    def beams(weights):
        def step(c, _):
            words, scores, last, t = c
            total = scores[:, None] + jax.nn.log_softmax(weights[last])
            best, at = lax.top_k(total.reshape(-1), 4)
            words = words[at // 20].at[:, t].set(at % 20)
            return (words, best, at % 20, t + 1), best

        start = (jnp.zeros((4, 15), jnp.int32), jnp.array([0.0, -9, -9, -9]), jnp.zeros(4, jnp.int32), 0)
        return lax.scan(step, start, None, length=15)

    case("beams", beams, floats(20, 20))

    # Its trips are more than one dispatch of a software driver makes, so that another goes on in the middle.
    def generators(n):
        step = lambda s: (s[0] * 1664525 + 1013904223, s[1] - 1)
        outer = lambda i, x: lax.while_loop(lambda s: s[1] > 0, step, (x + i.astype(jnp.uint32), n * 1000 + i))[0]
        return lax.fori_loop(0, 7, outer, jnp.uint32(5))

    case("long_inner_loops", generators, np.int32(30))
    branches = [lambda x, k=k: jnp.flip(x) * (1 + k / 100) + k for k in range(120)]

    def switches(x, which):
        def step(c, i):
            c = jnp.sin(lax.switch(i, branches, c))
            return c, c[0]

        return lax.scan(step, x, which)

    case("many_branches", switches, floats(33), r.permutation(130)[:60].astype(np.int32), tol=1e-4)

    def kalman(a, c, ys):
        def step(s, y):
            m, p = a @ s[0], a @ s[1] @ a.T + 0.1 * jnp.eye(6)
            spread = c @ p @ c.T + 0.2 * jnp.eye(3)
            low = jnp.linalg.cholesky(spread)
            gain = jsl.cho_solve((low, True), c @ p).T
            error = y - c @ m
            fit = jnp.sum(jsl.solve_triangular(low, error, lower=True) ** 2) + jnp.sum(jnp.log(jnp.diag(low)))
            return (m + gain @ error, p - gain @ spread @ gain.T), fit

        return lax.scan(step, (jnp.zeros(6), jnp.eye(6)), ys)

    case("kalman_solves", kalman, 0.9 * np.eye(6, dtype=np.float32) + 0.05 * floats(6, 6), floats(3, 6), floats(30, 3), tol=1e-4)

    def particles(ys, steps, offsets):
        def step(x, operands):
            y, noise, offset = operands
            x = 0.9 * x + 0.3 * noise
            weights = jnp.cumsum(jax.nn.softmax(-2.5 * (y - x) ** 2))
            x = x[jnp.clip(jnp.searchsorted(weights, (offset + jnp.arange(96)) / 96), 0, 95)]
            return x, (jnp.mean(x), jnp.median(x), jnp.argsort(x))

        return lax.scan(step, jnp.zeros(96), (ys, steps, offsets))

    case("particles_sorted", particles, floats(20), floats(20, 96), r.random(20).astype(np.float32))

    def means(points, centers):
        def step(c, _):
            nearest = jnp.argmin(((points[:, None] - c[None]) ** 2).sum(-1), 1)
            total = jax.ops.segment_sum(points, nearest, 5)
            return total / jnp.maximum(jnp.bincount(nearest, length=5), 1)[:, None], nearest

        return lax.scan(step, centers, None, length=12)

    case("means_scattered", means, floats(100, 3), floats(5, 3))

    # Too large for a workgroup: a nest that the device decides about.
    def relaxes(x, limits):
        def one(x, limit):
            turn = lambda s: (jnp.tanh(jnp.roll(s[0], 3, 1)) * 0.97, s[1] + 1)
            y, n = lax.while_loop(lambda s: (jnp.mean(jnp.abs(s[0])) > limit) & (s[1] < 9), turn, (x, 0))
            return lax.cond(n > 2, lambda y: y * 1.5, jnp.cos, y), n

        return lax.scan(one, x, limits)

    case("relaxes_in_a_nest", relaxes, floats(350, 400), np.linspace(0.5, 0.2, 6, dtype=np.float32))
