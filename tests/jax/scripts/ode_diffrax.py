"""Predators and prey by an adaptive ODE solver, and the gradient of a fit through it: diffrax and optax."""
import diffrax
import jax
import jax.numpy as jnp
import optax

times = jnp.linspace(0, 6, 25)


def solve(rates, saveat=diffrax.SaveAt(ts=times)):
    def field(t, y, rates):
        a, b, c, d = rates
        return jnp.stack([a * y[0] - b * y[0] * y[1], -c * y[1] + d * y[0] * y[1]])
    return diffrax.diffeqsolve(diffrax.ODETerm(field), diffrax.Tsit5(), 0.0, 6.0, 0.05, jnp.asarray([3.0, 1.5]), args=rates,
                               saveat=saveat, stepsize_controller=diffrax.PIDController(rtol=1e-4, atol=1e-4), max_steps=256).ys


truth = solve(jnp.asarray([1.1, 0.4, 0.4, 0.1]))
loss = jax.jit(lambda rates: jnp.mean((solve(rates) - truth) ** 2))
step_of = jax.jit(jax.value_and_grad(lambda rates: jnp.mean((solve(rates) - truth) ** 2)))
rates, optimizer = jnp.asarray([1.0, 0.45, 0.45, 0.12]), optax.adam(1e-2)
state, losses = optimizer.init(rates), []
for _ in range(15):
    value, gradient = step_of(rates)
    updates, state = optimizer.update(gradient, state)
    rates = optax.apply_updates(rates, updates)
    losses.append(value)
print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}, rates {rates}")
assert losses[-1] < losses[0]
results = {"orbit": truth, "losses": jnp.stack(losses)}
