"""custom_vjp and custom_jvp: clipped gradients, a fixed point by the implicit function theorem, log1pexp."""
import jax
import jax.numpy as jnp


@jax.custom_vjp
def clipped(x, limit):
    return x


clipped.defvjp(lambda x, limit: (x, limit), lambda limit, g: (jnp.clip(g, -limit, limit), jnp.zeros_like(limit)))


@jax.custom_jvp
def log1pexp(x):
    return jnp.log1p(jnp.exp(x))


@log1pexp.defjvp
def log1pexp_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return log1pexp(x), (1 - 1 / (1 + jnp.exp(x))) * t


def fixed_point(f, guess, *args):
    @jax.custom_vjp
    def solve(*args):
        return jax.lax.while_loop(lambda s: jnp.abs(s[0] - s[1]).max() > 1e-6, lambda s: (s[1], f(s[1], *args)), (guess, f(guess, *args)))[1]

    def forward(*args):
        x = solve(*args)
        return x, (x, args)

    def backward(saved, g):
        x, args = saved
        _, by_x = jax.vjp(lambda x: f(x, *args), x)
        u = jax.lax.fori_loop(0, 60, lambda _, u: g + by_x(u)[0], g)
        return jax.vjp(lambda *args: f(x, *args), *args)[1](u)

    solve.defvjp(forward, backward)
    return solve(*args)


def newton_root(a):
    return fixed_point(lambda x, a: 0.5 * (x + a / x), jnp.ones(()), a)


values = jnp.linspace(0.5, 9, 12)
results = {
    "roots": jax.jit(jax.vmap(newton_root))(values),
    "slopes": jax.jit(jax.vmap(jax.grad(newton_root)))(values),
    "clipped": jax.jit(jax.grad(lambda x: (clipped(x, jnp.float32(0.1)) ** 3).sum()))(values),
    "log1pexp": jax.vmap(jax.grad(log1pexp))(jnp.asarray([-3.0, 0.0, 40.0, 80.0])),
}
print("slopes", results["slopes"])
