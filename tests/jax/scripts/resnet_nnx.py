"""A residual network with batch norm on coloured squares: Flax NNX and optax."""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Block(nnx.Module):
    def __init__(self, features, rngs):
        self.first = nnx.Conv(features, features, (3, 3), rngs=rngs)
        self.second = nnx.Conv(features, features, (3, 3), rngs=rngs)
        self.norm = nnx.BatchNorm(features, rngs=rngs)

    def __call__(self, x):
        return nnx.relu(x + self.second(nnx.relu(self.norm(self.first(x)))))


class ResNet(nnx.Module):
    def __init__(self, rngs):
        self.stem = nnx.Conv(3, 8, (3, 3), strides=2, rngs=rngs)
        self.blocks = nnx.List([Block(8, rngs) for _ in range(2)])
        self.head = nnx.Linear(8, 4, rngs=rngs)

    def __call__(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(nnx.max_pool(x, (2, 2), strides=(2, 2)).mean((1, 2)))


def batch(key, n=16):
    label_key, noise_key = jax.random.split(key)
    labels = jax.random.randint(label_key, (n,), 0, 4)
    images = 0.3 * jax.random.normal(noise_key, (n, 16, 16, 3))
    rows, columns = labels // 2 * 8, labels % 2 * 8
    inside = ((jnp.arange(16)[None, :, None] // 8 * 8 == rows[:, None, None]) &
              (jnp.arange(16)[None, None, :] // 8 * 8 == columns[:, None, None]))
    return images + inside[..., None] * jnp.asarray([1.0, 0.5, -1.0]), labels


model = ResNet(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)


@nnx.jit
def step(model, optimizer, images, labels):
    def loss(model):
        return optax.softmax_cross_entropy_with_integer_labels(model(images), labels).mean()
    value, grads = nnx.value_and_grad(loss)(model)
    optimizer.update(model, grads)
    return value


losses = []
for key in jax.random.split(jax.random.key(0), 12):
    losses.append(step(model, optimizer, *batch(key)))
model.eval()
print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}")
results = {"losses": jnp.stack(losses), "variance": model.blocks[0].norm.var[...]}
