"""A hidden Markov model: the forward algorithm by associative_scan, Viterbi's path by a scan, and gradients of the likelihood."""
import jax
import jax.numpy as jnp

states, symbols, length = 4, 6, 64
log_a = jax.nn.log_softmax(2 * jax.random.normal(jax.random.key(0), (states, states)))
log_b = jax.nn.log_softmax(2 * jax.random.normal(jax.random.key(1), (states, symbols)))
seen = jax.random.randint(jax.random.key(2), (length,), 0, symbols)


def product(x, y):
    return jax.nn.logsumexp(x[..., :, :, None] + y[..., None, :, :], axis=-2)


def likelihood(log_a, log_b):
    steps = log_a[None] + log_b[:, seen].T[:, None, :]
    return jax.nn.logsumexp(jax.lax.associative_scan(product, steps)[-1], axis=1)[0]


@jax.jit
def viterbi():
    def forward(score, symbol):
        through = score[:, None] + log_a
        return through.max(0) + log_b[:, symbol], through.argmax(0)
    score, back = jax.lax.scan(forward, log_b[:, seen[0]], seen[1:])
    last = score.argmax()
    return jax.lax.scan(lambda s, b: (b[s], s), last, back, reverse=True)[1], score.max()


value, gradients = jax.jit(jax.value_and_grad(likelihood, (0, 1)))(log_a, log_b)
path, score = viterbi()
print(f"log p {value:.4f}, the best path's {score:.4f}")
results = {"likelihood": value, "gradients": gradients, "path": path, "score": score}
