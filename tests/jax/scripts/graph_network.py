"""Message passing on a sparse graph, two ways: segment sums, and a BCOO matrix."""
import jax
import jax.numpy as jnp
import optax
from jax.experimental import sparse

nodes, edges, classes = 60, 240, 3
key = jax.random.key(0)
labels = jax.random.randint(key, (nodes,), 0, classes)
senders = jax.random.randint(jax.random.key(1), (edges,), 0, nodes)
same = jnp.argsort(jnp.where(labels[None] == labels[senders][:, None], jax.random.uniform(jax.random.key(2), (edges, nodes)), 2.0))
receivers = same[:, 0]
features = jax.nn.one_hot(labels, classes) + 1.5 * jax.random.normal(jax.random.key(3), (nodes, classes))
degree = jax.ops.segment_sum(jnp.ones(edges), receivers, nodes) + 1
adjacency = sparse.BCOO((jnp.ones(edges), jnp.stack([receivers, senders], 1)), shape=(nodes, nodes))


def by_segments(params, x):
    for w in params:
        messages = jax.ops.segment_sum(x[senders], receivers, nodes)
        x = jnp.tanh((x + messages) / degree[:, None] @ w)
    return x


def by_matrix(params, x):
    for w in params:
        x = jnp.tanh((x + adjacency @ x) / degree[:, None] @ w)
    return x


def loss(params, network):
    return optax.softmax_cross_entropy_with_integer_labels(4 * network(params, features), labels).mean()


params = [0.7 * jax.random.normal(k, shape) for k, shape in zip(jax.random.split(key), [(classes, 16), (16, classes)])]
optimizer, losses = optax.adam(2e-2), {}
for network in (by_segments, by_matrix):
    trained, state, values = params, optimizer.init(params), []
    step = jax.jit(lambda p, network=network: jax.value_and_grad(loss)(p, network))
    for _ in range(30):
        value, grads = step(trained)
        updates, state = optimizer.update(grads, state)
        trained = optax.apply_updates(trained, updates)
        values.append(value)
    losses[network.__name__] = jnp.stack(values)
    print(network.__name__, f"{values[0]:.3f} -> {values[-1]:.3f}")
results = losses
