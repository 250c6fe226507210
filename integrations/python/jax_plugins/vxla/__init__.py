"""JAX on any Vulkan device, by vxla: the platform "vulkan".

JAX finds this module by itself. VXLA_DEVICES says which devices there are: a number of logical ones, "all", or names with commas
between. VXLA_PJRT_LIBRARY names another plugin library than the one beside this file.
"""

import dataclasses
import functools
import logging
import os
import pathlib
import warnings

PLATFORM = "vulkan"
_logger = logging.getLogger(__name__)


def library_path():
    """The plugin library's path; None where there is none."""
    named = os.environ.get("VXLA_PJRT_LIBRARY")
    path = pathlib.Path(named) if named else pathlib.Path(__file__).parent / "pjrt_plugin_vxla.so"
    return str(path) if path.exists() else None


def _guarded(feature):
    """What touches JAX's private names loses its feature where JAX has changed them, never the platform."""
    def wrap(function):
        @functools.wraps(function)
        def run():
            try:
                function()
            except Exception as error:  # whatever a changed JAX raises
                warnings.warn(f"vxla: this JAX has changed, so {feature}: {error!r}", stacklevel=2)
        return run
    return wrap


@_guarded("a machine without a Vulkan device needs JAX_PLATFORMS=cpu")
def _fail_quietly():
    from jax._src import xla_bridge
    factories = xla_bridge._backend_factories
    factories[PLATFORM] = dataclasses.replace(factories[PLATFORM], fail_quietly=True)


@_guarded("donated arguments are copied")
def _donate():
    from jax._src.interpreters import mlir
    if PLATFORM not in mlir._platforms_with_donation:
        mlir._platforms_with_donation.append(PLATFORM)


@_guarded("compiled programs are not kept in JAX's compilation cache")
def _cache():
    from jax._src import compilation_cache
    original = compilation_cache.is_cache_used

    class AsGpu:
        """What is_cache_used asks of a backend, by a name that it knows."""
        platform = "gpu"
        supports_executable_serialization = True

        def __init__(self, backend):
            self._backend = backend

        def __getattr__(self, name):
            return getattr(self._backend, name)

    @functools.wraps(original)
    def is_cache_used(backend):
        return original(AsGpu(backend) if backend.platform == PLATFORM else backend)

    compilation_cache.is_cache_used = is_cache_used


@_guarded("eigh, eig, svd, schur and hessenberg are missing")
def _linear_algebra():
    """LAPACK's calls, which vxla knows, for what JAX can expand for no platform."""
    from jax._src.interpreters import mlir
    from jax._src.lax import linalg
    with_prefix = {"eigh_p": "_eigh_cpu_gpu_lowering", "svd_p": "_svd_cpu_gpu_lowering", "lu_p": "_lu_cpu_gpu_lowering",
                   "geqrf_p": "_geqrf_cpu_gpu_lowering", "geqp3_p": "_geqp3_cpu_gpu_lowering",
                   "householder_product_p": "_householder_product_cpu_gpu_lowering",
                   "tridiagonal_p": "_tridiagonal_cpu_gpu_lowering"}
    plain = {"eig_p": "_eig_cpu_lowering", "schur_p": "_schur_cpu_lowering", "hessenberg_p": "_hessenberg_cpu_lowering"}
    missing = []
    for primitive, rule in {**with_prefix, **plain}.items():
        primitive, rule_function = getattr(linalg, primitive, None), getattr(linalg, rule, None)
        if primitive is None or rule_function is None:
            missing.append(rule)
            continue
        if rule in with_prefix.values():
            rule_function = functools.partial(rule_function, target_name_prefix="cpu")
        mlir.register_lowering(primitive, rule_function, platform=PLATFORM)
    if missing:
        raise AttributeError(", ".join(missing))


@_guarded("special functions are JAX's expansions of them")
def _special_functions():
    """jaxlib would send what these are made of; vxla has them itself, closer to the exact values."""
    from jax._src.interpreters import mlir
    from jax._src.lax import lax, special

    def rule(name, ctx, *operands, **_):
        operands = mlir.multi_broadcast_in_dim(ctx, operands, ctx.avals_in, ctx.avals_out[0].shape,
                                               ctx.avals_out[0].sharding)
        call = mlir.custom_call(f"chlo.{name}", result_types=[operands[0].type], operands=operands)
        return call.results

    for module, primitive, name in ((special, "erf_inv_p", "erf_inv"), (special, "lgamma_p", "lgamma"),
                                    (special, "digamma_p", "digamma"), (special, "bessel_i1e_p", "bessel_i1e"),
                                    (special, "zeta_p", "zeta"), (special, "polygamma_p", "polygamma"),
                                    (lax, "nextafter_p", "next_after")):
        mlir.register_lowering(getattr(module, primitive), functools.partial(rule, name), platform=PLATFORM)


@_guarded("checkify.check is missing")
def _checks():
    from jax._src import checkify
    from jax._src.interpreters import mlir
    mlir.register_lowering(checkify.check_p, checkify.check_lowering_rule_unsupported, platform=PLATFORM)


def initialize():
    """Called by JAX when it looks for plugins."""
    path = library_path()
    if path is None:
        _logger.warning("vxla: pjrt_plugin_vxla.so is not beside %s", __file__)
        return
    from jax._src import xla_bridge
    xla_bridge.register_plugin(PLATFORM, priority=400, library_path=path, options=None)
    for step in (_fail_quietly, _donate, _cache, _linear_algebra, _special_functions, _checks):
        step()
