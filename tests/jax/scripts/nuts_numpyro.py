"""Eight schools by NumPyro's NUTS, reparametrised."""
import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS

effects = jnp.asarray([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
errors = jnp.asarray([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def schools():
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("schools", 8):
        z = numpyro.sample("z", dist.Normal(0, 1))
        numpyro.sample("effect", dist.Normal(mu + tau * z, errors), obs=effects)


mcmc = MCMC(NUTS(schools, max_tree_depth=6), num_warmup=100, num_samples=150, progress_bar=False)
mcmc.run(jax.random.key(0))
samples = mcmc.get_samples()
print("mu", samples["mu"].mean(), "tau", samples["tau"].mean())
assert 0 < samples["mu"].mean() < 9
results = {"means": {"mu": samples["mu"].mean() / 5}}
