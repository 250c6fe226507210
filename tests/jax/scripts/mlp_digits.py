"""A multilayer perceptron on handwritten digits, to 97 %: plain JAX."""
import jax
import jax.numpy as jnp
from sklearn.datasets import load_digits

x, y = load_digits(return_X_y=True)
x, y = jnp.asarray(x / 16, jnp.float32), jnp.asarray(y)
order = jax.random.permutation(jax.random.key(0), len(x))
train, test = order[:1437], order[1437:]


def init(key, sizes=(64, 128, 10)):
    keys = jax.random.split(key, len(sizes) - 1)
    return [(jax.random.normal(k, (m, n)) * jnp.sqrt(2 / m), jnp.zeros(n)) for k, m, n in zip(keys, sizes, sizes[1:])]


def predict(params, x):
    for w, b in params[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = params[-1]
    return x @ w + b


def loss(params, x, y):
    return -jnp.mean(jax.nn.log_softmax(predict(params, x))[jnp.arange(len(y)), y])


@jax.jit
def epoch(params, key):
    def step(params, batch):
        value, grads = jax.value_and_grad(loss)(params, x[batch], y[batch])
        return jax.tree.map(lambda p, g: p - 0.2 * g, params, grads), value
    batches = jax.random.permutation(key, train)[:1408].reshape(-1, 64)
    return jax.lax.scan(step, params, batches)


params, key = init(jax.random.key(1)), jax.random.key(2)
losses = []
for k in jax.random.split(key, 25):
    params, values = epoch(params, k)
    losses.append(values.mean())
accuracy = jnp.mean(predict(params, x[test]).argmax(1) == y[test])
print(f"accuracy {accuracy:.4f}")
assert accuracy >= 0.97
results = {"losses": jnp.stack(losses), "accuracy": accuracy}
