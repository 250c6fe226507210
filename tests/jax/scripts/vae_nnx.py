"""A variational autoencoder of digits: Flax NNX with its own random streams."""
import jax
import jax.numpy as jnp
import optax
from flax import nnx
from sklearn.datasets import load_digits

images = jnp.asarray(load_digits().data / 16, jnp.float32)[:512]


class VAE(nnx.Module):
    def __init__(self, rngs):
        self.encoder = nnx.Sequential(nnx.Linear(64, 48, rngs=rngs), nnx.relu, nnx.Linear(48, 8, rngs=rngs))
        self.decoder = nnx.Sequential(nnx.Linear(4, 48, rngs=rngs), nnx.relu, nnx.Linear(48, 64, rngs=rngs))
        self.rngs = rngs

    def __call__(self, x):
        mean, log_var = jnp.split(self.encoder(x), 2, -1)
        z = mean + jnp.exp(log_var / 2) * self.rngs.noise.normal(mean.shape)
        return self.decoder(z), mean, log_var


model = VAE(nnx.Rngs(params=0, noise=1))
optimizer = nnx.Optimizer(model, optax.adam(5e-3), wrt=nnx.Param)


@nnx.jit
def step(model, optimizer, x):
    def loss(model):
        logits, mean, log_var = model(x)
        likelihood = optax.sigmoid_binary_cross_entropy(logits, x).sum(-1)
        return (likelihood - 0.5 * (1 + log_var - mean**2 - jnp.exp(log_var)).sum(-1)).mean()
    value, grads = nnx.value_and_grad(loss)(model)
    optimizer.update(model, grads)
    return value


losses = [step(model, optimizer, images[i % 4 * 128:][:128]) for i in range(40)]
print(f"loss {losses[0]:.2f} -> {losses[-1]:.2f}")
results = {"losses": jnp.stack(losses)}
