"""Optimisers of optax, schedules, clipping, accumulation and moving averages on one badly scaled quadratic."""
import jax
import jax.numpy as jnp
import optax

scales = jnp.logspace(0, 2, 12)
schedule = optax.warmup_cosine_decay_schedule(0.0, 0.05, 10, 60)
optimizers = {
    "sgd": optax.sgd(5e-3, momentum=0.9, nesterov=True),
    "adamw": optax.adamw(schedule, weight_decay=1e-3),
    "lion": optax.lion(1e-2),
    "rmsprop": optax.chain(optax.clip_by_global_norm(10.0), optax.rmsprop(1e-2)),
    "adafactor": optax.adafactor(1e-2),
    "accumulated": optax.MultiSteps(optax.adam(3e-2), every_k_schedule=2),
    "lamb": optax.lamb(1e-2),
}
results = {}
for name, optimizer in optimizers.items():
    @jax.jit
    def run(x):
        def step(carry, _):
            x, average, state = carry
            value, grad = jax.value_and_grad(lambda x: 0.5 * jnp.sum(scales * x**2))(x)
            updates, state = optimizer.update(grad, state, x)
            x = optax.apply_updates(x, updates)
            return (x, optax.incremental_update(x, average, 0.1), state), value
        return jax.lax.scan(step, (x, x, optimizer.init(x)), None, length=60)
    (x, average, _), values = run(jnp.ones(12))
    print(f"{name}: {values[0]:.2f} -> {values[-1]:.4f}")
    results[name] = {"values": values, "average": average}
