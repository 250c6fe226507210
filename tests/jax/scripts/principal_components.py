"""Linear algebra of a data set: SVD, eigh, QR, least squares, the matrix exponential and a polar decomposition."""
import jax
import jax.numpy as jnp

data = jax.random.normal(jax.random.key(0), (80, 6)) @ jax.random.normal(jax.random.key(1), (6, 6))
centred = data - data.mean(0)


@jax.jit
def analyse(x):
    u, s, vt = jnp.linalg.svd(x, full_matrices=False)
    values, vectors = jnp.linalg.eigh(x.T @ x)
    q, r = jnp.linalg.qr(x)
    solution = jnp.linalg.lstsq(x, x.sum(1))[0]
    unitary, _ = jax.scipy.linalg.polar(x[:6])
    return {"singular": s, "rebuilt": (u * s) @ vt, "values": values, "projector": vectors[:, -2:] @ vectors[:, -2:].T,
            "product": q @ r, "solution": solution, "unitary": unitary, "exponential": jax.scipy.linalg.expm(x[:6] / 10),
            "determinant": jnp.linalg.slogdet(x[:6])[1], "inverse": jnp.linalg.pinv(x)}


results = analyse(centred)
gradient = jax.grad(lambda x: jnp.log(jnp.linalg.svd(x, compute_uv=False)).sum())(centred)
results["gradient"] = gradient
results["eigenvalues"] = jnp.sort(jnp.abs(jnp.linalg.eigvals(centred[:6])))
print("variances", results["singular"] ** 2 / 80)
