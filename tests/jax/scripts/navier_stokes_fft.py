"""Two-dimensional turbulence: the vorticity equation by FFTs, integrated by Runge and Kutta's method."""
import jax
import jax.numpy as jnp

n, viscosity, dt = 64, 1e-3, 0.02
k = jnp.fft.fftfreq(n, 1 / n)
kx, ky = jnp.meshgrid(k, jnp.fft.rfftfreq(n, 1 / n), indexing="ij")
square = kx**2 + ky**2
inverse = jnp.where(square == 0, 0, 1 / jnp.where(square == 0, 1, square))
keep = (jnp.abs(kx) < n / 3) & (jnp.abs(ky) < n / 3)


def rate(w):
    psi = w * inverse
    fields = jnp.stack([1j * ky * psi, -1j * kx * psi, 1j * kx * w, 1j * ky * w])
    u, v, wx, wy = jnp.fft.irfft2(fields, (n, n))
    return -jnp.fft.rfft2(u * wx + v * wy) * keep - viscosity * square * w


@jax.jit
def integrate(w):
    def step(w, _):
        a = rate(w)
        b = rate(w + dt / 2 * a)
        c = rate(w + dt / 2 * b)
        return w + dt / 6 * (a + 2 * b + 2 * c + rate(w + dt * c)), None
    return jax.lax.scan(step, w, None, length=60)[0]


start = jnp.fft.rfft2(jax.random.normal(jax.random.key(0), (n, n)) * 5) * keep * jnp.exp(-square / 50)
vorticity = jnp.fft.irfft2(integrate(start), (n, n))
print(f"vorticity from {vorticity.min():.3f} to {vorticity.max():.3f}")
results = {"vorticity": vorticity, "energy": (jnp.abs(jnp.fft.rfft2(vorticity)) ** 2 * inverse).sum() / n**4}
