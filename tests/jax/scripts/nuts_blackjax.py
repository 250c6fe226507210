"""Bayesian linear regression by the No-U-Turn sampler of BlackJAX, with window adaptation."""
import blackjax
import jax
import jax.numpy as jnp

key = jax.random.key(0)
x = jax.random.normal(key, (40, 2))
y = x @ jnp.asarray([1.5, -0.7]) + 0.3 * jax.random.normal(jax.random.key(1), (40,))


def log_density(position):
    error = (y - x @ position["w"]) / jnp.exp(position["log_sigma"])
    return -0.5 * jnp.sum(error**2) - len(y) * position["log_sigma"] - 0.5 * jnp.sum(position["w"] ** 2) - 0.5 * position["log_sigma"] ** 2


start = {"w": jnp.zeros(2), "log_sigma": jnp.zeros(())}
warmup = blackjax.window_adaptation(blackjax.nuts, log_density)
(state, parameters), _ = warmup.run(jax.random.key(2), start, num_steps=60)
kernel = blackjax.nuts(log_density, **parameters)


@jax.jit
def chain(state, key):
    def one(state, key):
        state, info = kernel.step(key, state)
        return state, (state.position, info.acceptance_rate)
    return jax.lax.scan(one, state, jax.random.split(key, 120))[1]


positions, acceptance = chain(state, jax.random.key(3))
mean, spread = positions["w"].mean(0), positions["w"].std(0)
print("w", mean, "+-", spread, "acceptance", acceptance.mean())
assert jnp.abs(mean - jnp.asarray([1.5, -0.7])).max() < 0.3
results = {"density": jax.value_and_grad(log_density)(start), "mean": mean}
