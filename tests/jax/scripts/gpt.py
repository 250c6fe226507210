"""A small GPT, trained on the Zen of Python and sampled: JAX and optax."""
import codecs
import contextlib
import io

import jax
import jax.numpy as jnp
import optax

with contextlib.redirect_stdout(io.StringIO()):
    import this

text = codecs.decode(this.s, "rot13")
letters = sorted(set(text))
data = jnp.asarray([letters.index(c) for c in text])
vocabulary, width, heads, layers, context = len(letters), 32, 4, 2, 32


def init(key):
    def matrix(key, *shape):
        return 0.1 * jax.random.normal(key, shape)
    keys = iter(jax.random.split(key, 3 + 4 * layers))
    params = {"token": matrix(next(keys), vocabulary, width), "place": matrix(next(keys), context, width),
              "head": matrix(next(keys), width, vocabulary), "blocks": []}
    for _ in range(layers):
        params["blocks"].append({"qkv": matrix(next(keys), width, 3 * width), "out": matrix(next(keys), width, width),
                                 "up": matrix(next(keys), width, 4 * width), "down": matrix(next(keys), 4 * width, width)})
    return params


def norm(x):
    return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def logits(params, tokens):
    n = tokens.shape[-1]
    x = params["token"][tokens] + params["place"][:n]
    mask = jnp.tril(jnp.ones((n, n), bool))
    for block in params["blocks"]:
        q, k, v = jnp.split(norm(x) @ block["qkv"], 3, -1)
        q, k, v = (t.reshape(*t.shape[:-1], heads, -1) for t in (q, k, v))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(width // heads)
        weights = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf))
        x = x + jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(x.shape) @ block["out"]
        x = x + jax.nn.gelu(norm(x) @ block["up"]) @ block["down"]
    return norm(x) @ params["head"]


def loss(params, tokens):
    return optax.softmax_cross_entropy_with_integer_labels(logits(params, tokens[:, :-1]), tokens[:, 1:]).mean()


optimizer = optax.adamw(3e-3)


@jax.jit
def step(params, state, key):
    starts = jax.random.randint(key, (8,), 0, len(data) - context - 1)
    tokens = jax.vmap(lambda s: jax.lax.dynamic_slice(data, (s,), (context + 1,)))(starts)
    value, grads = jax.value_and_grad(loss)(params, tokens)
    updates, state = optimizer.update(grads, state, params)
    return optax.apply_updates(params, updates), state, value


@jax.jit
def sample(params, key):
    def next_token(tokens, key):
        choice = jax.random.categorical(key, 4 * logits(params, tokens[None])[0, -1])
        return jnp.roll(tokens, -1).at[-1].set(choice), choice
    return jax.lax.scan(next_token, data[:context], jax.random.split(key, 24))[1]


params = init(jax.random.key(0))
state = optimizer.init(params)
losses = []
for key in jax.random.split(jax.random.key(1), 80):
    params, state, value = step(params, state, key)
    losses.append(value)
print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}:", repr("".join(letters[t] for t in sample(params, jax.random.key(2)))))
assert losses[-1] < 0.75 * losses[0]
results = {"losses": jnp.stack(losses), "logits": logits(init(jax.random.key(0)), data[None, :context]),
           "tokens": sample(init(jax.random.key(0)), jax.random.key(2))}
