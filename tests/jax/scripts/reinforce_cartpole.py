"""REINFORCE on a cart with a pole: the environment, the episodes and the update in one jitted function."""
import jax
import jax.numpy as jnp
import optax


def physics(state, action):
    x, v, angle, spin = state
    force = jnp.where(action == 1, 10.0, -10.0)
    s, c = jnp.sin(angle), jnp.cos(angle)
    push = (force + 0.05 * spin**2 * s) / 1.1
    turn = (9.8 * s - c * push) / (0.5 * (4 / 3 - 0.1 * c**2 / 1.1))
    return jnp.stack([x + 0.02 * v, v + 0.02 * (push - 0.05 * turn * c / 1.1), angle + 0.02 * spin, spin + 0.02 * turn])


def policy(params, state):
    return jnp.tanh(state @ params["w1"] + params["b1"]) @ params["w2"]


def episode(params, key, length=100):
    def step(carry, key):
        state, alive = carry
        action = jax.random.categorical(key, policy(params, state))
        following = physics(state, action)
        survives = alive * (jnp.abs(following[2]) < 0.21) * (jnp.abs(following[0]) < 2.4)
        return (following, survives), (state, action, alive)
    first, key = jax.random.split(key)
    start = jax.random.uniform(first, (4,), minval=-0.05, maxval=0.05)
    return jax.lax.scan(step, (start, jnp.ones(())), jax.random.split(key, length))[1]


def loss(params, states, actions, alive):
    returns = jnp.cumsum(alive[:, ::-1], 1)[:, ::-1]
    advantage = (returns - returns.mean(0)) * alive
    log_p = jax.nn.log_softmax(jax.vmap(jax.vmap(policy, (None, 0)), (None, 0))(params, states))
    chosen = jnp.take_along_axis(log_p, actions[..., None], -1)[..., 0]
    return -(chosen * advantage).sum() / alive.sum()


optimizer = optax.adam(2e-2)


@jax.jit
def update(params, state, key):
    states, actions, alive = jax.vmap(episode, (None, 0))(params, jax.random.split(key, 32))
    value, grads = jax.value_and_grad(loss)(params, states, actions, alive)
    updates, state = optimizer.update(grads, state)
    return optax.apply_updates(params, updates), state, alive.sum(1).mean()


keys = jax.random.split(jax.random.key(0), 2)
params = {"w1": 0.5 * jax.random.normal(keys[0], (4, 16)), "b1": jnp.zeros(16), "w2": 0.1 * jax.random.normal(keys[1], (16, 2))}
state, lengths = optimizer.init(params), []
for key in jax.random.split(jax.random.key(1), 25):
    params, state, length = update(params, state, key)
    lengths.append(length)
print(f"steps {lengths[0]:.1f} -> {lengths[-1]:.1f}")
assert lengths[-1] > 1.5 * lengths[0]
results = {"first": jnp.stack(lengths[:3]) / 100}
