"""Pictures: resizing, blurring, edges, morphology, a distance transform, and a style of them learnt by gradient descent."""
import jax
import jax.numpy as jnp

grid = jnp.linspace(-1, 1, 48)
picture = jnp.stack([jnp.sin(7 * grid[:, None] * grid[None]), jnp.cos(5 * (grid[:, None] + grid[None])), grid[:, None] * grid[None]], -1)


def blur(x, width=5):
    kernel = jnp.exp(-jnp.linspace(-2, 2, width) ** 2)
    kernel = jnp.outer(kernel, kernel) / kernel.sum() ** 2
    return jax.lax.conv_general_dilated(x.transpose(2, 0, 1)[:, None], kernel[None, None], (1, 1), "SAME")[:, 0].transpose(1, 2, 0)


@jax.jit
def effects(x):
    edges = jnp.hypot(jnp.gradient(x.mean(-1), axis=0), jnp.gradient(x.mean(-1), axis=1))
    grown = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (3, 3, 1), (1, 1, 1), "SAME")
    coordinates = jnp.stack(jnp.meshgrid(jnp.arange(20.0) * 2.3, jnp.arange(20.0) * 2.1, indexing="ij"))
    warped = jax.scipy.ndimage.map_coordinates(x[..., 0], coordinates, order=1)
    return {"blurred": blur(x), "edges": edges, "grown": grown, "warped": warped, "small": jax.image.resize(x, (20, 20, 3), "bilinear"),
            "large": jax.image.resize(x, (71, 67, 3), "cubic"), "histogram": jnp.histogram(x, bins=8, range=(-1, 1))[0],
            "rotated": jnp.rot90(x), "convolved": jax.scipy.signal.convolve2d(x[..., 0], x[:5, :5, 1], mode="valid")}


def gram(x):
    features = jax.nn.relu(jnp.concatenate([blur(x), x - blur(x)], -1)).reshape(-1, 6)
    return features.T @ features / len(features)


@jax.jit
def stylise(x, style):
    def step(x, _):
        value, slope = jax.value_and_grad(lambda x: ((gram(x) - gram(style)) ** 2).sum())(x)
        return x - 20 * slope, value
    return jax.lax.scan(step, x, None, length=20)


results = effects(picture)
stylised, losses = stylise(picture, picture[::-1, ::2].repeat(2, 1) * 1.5)
results["losses"] = losses
print(f"style {losses[0]:.4f} -> {losses[-1]:.4f}")
