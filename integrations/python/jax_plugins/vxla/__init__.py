"""JAX on any Vulkan device, by vxla: the platform "vulkan".

JAX finds this module by itself. VXLA_DEVICES says which devices there are: a number of logical ones, "all", or names with commas
between. VXLA_PJRT_LIBRARY names another plugin library than the one beside this file.
"""

import atexit
import ctypes
import dataclasses
import functools
import logging
import os
import pathlib
import secrets
import sys
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
    plain = {"eig_p": "_eig_cpu_lowering", "schur_p": "_schur_cpu_lowering", "hessenberg_p": "_hessenberg_cpu_lowering",
             "tridiagonal_solve_p": "_tridiagonal_solve_cpu_lowering", "cholesky_p": "_cholesky_cpu_lowering"}
    missing = []

    def eigh(rule, *operands, algorithm=None, **parameters):
        # JAX's names of ways to compute it; QDWH's is refused by the rule.
        if algorithm is not None and algorithm.name == "JACOBI":
            algorithm = None
        return rule(*operands, algorithm=algorithm, **parameters)

    for primitive, rule in {**with_prefix, **plain}.items():
        primitive, rule_function = getattr(linalg, primitive, None), getattr(linalg, rule, None)
        if primitive is None or rule_function is None:
            missing.append(rule)
            continue
        if rule in with_prefix.values():
            rule_function = functools.partial(rule_function, target_name_prefix="cpu")
        if primitive is linalg.eigh_p:
            rule_function = functools.partial(eigh, rule_function)
        mlir.register_lowering(primitive, rule_function, platform=PLATFORM)
    if missing:
        raise AttributeError(", ".join(missing))


@_guarded("special functions are JAX's expansions of them")
def _special_functions():
    """jaxlib would send what these are made of; vxla has them itself, closer to the exact values."""
    from jax._src import core
    from jax._src.interpreters import mlir
    from jax._src.lax import lax, special

    names = {(special, "erf_inv_p"): "erf_inv", (special, "lgamma_p"): "lgamma", (special, "digamma_p"): "digamma",
             (special, "bessel_i1e_p"): "bessel_i1e", (special, "zeta_p"): "zeta", (special, "polygamma_p"): "polygamma",
             (lax, "nextafter_p"): "next_after"}

    def rule(name, ctx, *operands, **_):
        aval = ctx.avals_out[0]
        operands = mlir.multi_broadcast_in_dim(ctx, operands, ctx.avals_in, aval.shape, aval.sharding)
        sizes = None if core.is_constant_shape(aval.shape) else [mlir.eval_dynamic_shape_as_tensor(ctx, aval.shape)]
        return mlir.custom_call(f"chlo.{name}", result_types=[operands[0].type], operands=operands,
                                result_shapes=sizes).results

    for (module, primitive), name in names.items():
        mlir.register_lowering(getattr(module, primitive), functools.partial(rule, name), platform=PLATFORM)


@_guarded("jax.lax.pbroadcast, jax.lax.psend and jax.nn.scaled_matmul are missing")
def _written_for_gpus():
    """What JAX lowers for GPUs alone, in operations that vxla has."""
    from jax._src.cudnn import scaled_matmul_stablehlo as scaled
    from jax._src.interpreters import mlir
    from jax._src.lax import parallel

    def as_on_gpus(rule):
        # The rules ask whether the platform is one of those.
        return lambda ctx, *operands, **parameters: rule(
            ctx.replace(module_context=ctx.module_context.replace(platforms=("cuda",))), *operands, **parameters)

    for primitive, rule in (
            (parallel.pbroadcast_p, parallel._pbroadcast_lowering),
            (parallel.pbroadcast_start_p, parallel._start_lowering(parallel._pbroadcast_lowering)),
            (parallel.psend_p, as_on_gpus(parallel._psend_lowering_gpu)),
            (parallel.precv_p, parallel._precv_lowering_gpu),
            (scaled._scaled_matmul_p, scaled._scaled_matmul_gpu_lowering)):
        mlir.register_lowering(primitive, rule, platform=PLATFORM)


@_guarded("exported programs with special functions need DisabledSafetyCheck.custom_call")
def _export():
    """What these calls mean does not change."""
    from jax._src.export import _export
    _export._CUSTOM_CALL_TARGETS_GUARANTEED_STABLE.update(
        f"chlo.{name}" for name in ("erf_inv", "lgamma", "digamma", "bessel_i1e", "zeta", "polygamma", "next_after"))


@_guarded("np.from_dlpack and torch.from_dlpack do not take its arrays")
def _dlpack():
    """A copy on JAX's CPU: no other library can use memory of a Vulkan device."""
    import jax
    from jax._src import array
    from jax._src.dlpack import DLDeviceType
    pack, device_of = array.ArrayImpl.__dlpack__, array.ArrayImpl.__dlpack_device__

    def is_own(x):
        return len(x.sharding.device_set) == 1 and next(iter(x.sharding.device_set)).platform == PLATFORM

    @functools.wraps(pack)
    def __dlpack__(self, *, copy=None, **given):
        if not is_own(self):
            return pack(self, copy=copy, **given)
        if copy is False:
            raise BufferError("an array on a Vulkan device cannot be lent, only copied to the host")
        return pack(jax.device_put(self, jax.devices("cpu")[0]), **given)

    @functools.wraps(device_of)
    def __dlpack_device__(self):
        return (DLDeviceType.kDLCPU, 0) if is_own(self) else device_of(self)

    array.ArrayImpl.__dlpack__, array.ArrayImpl.__dlpack_device__ = __dlpack__, __dlpack_device__


# Functions that programs call, by number, for as long as the process lives: a compiled program may be kept anywhere. Numbers are secrets,
# so that no program from elsewhere names one, whose operands might be of other sizes. Each is given arrays of the library's memory and
# writes the results into theirs.
_callbacks = {}
_ENDS = -1


@ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p,
                  ctypes.c_size_t)
def _call_python(number, operands, results, message, size):
    """What the library calls, on a thread of its own; once with its function that must be called before the interpreter ends."""
    if number == _ENDS:
        atexit.register(ctypes.CFUNCTYPE(None)(operands[0]))
        return
    import numpy as np

    def view(address, aval):
        count = int(np.prod(aval.shape)) * np.dtype(aval.dtype).itemsize
        memory = (ctypes.c_uint8 * count).from_address(address) if count else bytearray()
        return np.frombuffer(memory, dtype=np.uint8).view(aval.dtype).reshape(aval.shape)
    try:
        function, operand_avals, result_avals = _callbacks[number]
        function([view(operands[i], aval) for i, aval in enumerate(operand_avals)],
                 [view(results[i], aval) for i, aval in enumerate(result_avals)])
    except BaseException as error:
        text = f"CpuCallback error: {type(error).__name__}: {error}".encode()[:size - 1] + b"\0"
        ctypes.memmove(message, text, len(text))


def _callback_call(ctx, function, fill, operands, operand_avals, result_avals, has_side_effect):
    """A call of `fill` with arrays of the operands and results, in the program that is lowered for `function`."""
    from jax._src.interpreters import mlir
    number = secrets.randbits(62)
    _callbacks[number] = (fill, list(operand_avals), list(result_avals))
    types = [mlir.ir.RankedTensorType.get(aval.shape, mlir.dtype_to_ir_type(aval.dtype)) for aval in result_avals]
    # JAX's compilation cache leaves out programs with such functions.
    ctx.module_context.add_host_callback(function)
    return mlir.custom_call("vxla_python_callback", result_types=types, operands=operands,
                            backend_config=f"{number} {len(types)}", has_side_effect=has_side_effect)


@_guarded("pure_callback, io_callback and debug.print are missing")
def _python_callbacks():
    import numpy as np
    from jax._src import callback, checkify, debugging, dtypes
    from jax._src.interpreters import mlir
    original = callback.emit_python_callback

    @functools.wraps(original)
    def emit_python_callback(ctx, function, token, operands, operand_avals, result_avals, *, has_side_effect,
                             returns_token=True, partitioned=False, sharding=None):
        if tuple(ctx.module_context.platforms) != (PLATFORM,):
            return original(ctx, function, token, operands, operand_avals, result_avals, has_side_effect=has_side_effect,
                            returns_token=returns_token, partitioned=partitioned, sharding=sharding)

        def fill(operands, results):
            for i, (value, result) in enumerate(zip(function(*[array.copy() for array in operands]), results, strict=True)):
                value = dtypes.canonicalize_value(np.asarray(value))  # a Python literal is of the type that JAX gives it
                if value.shape != result.shape:
                    raise RuntimeError(f"Incorrect output shape for return value #{i}: Expected: {result.shape}, Actual: {value.shape}")
                if value.dtype != result.dtype:
                    raise RuntimeError(f"Incorrect output dtype for return value #{i}: Expected: {result.dtype}, Actual: {value.dtype}")
                if value.size:
                    result[...] = value
        call = _callback_call(ctx, function, fill, operands, operand_avals, result_avals, has_side_effect)
        if sharding is not None:
            mlir.set_sharding(ctx.module_context, call, sharding)
        return list(call.results), token, function

    callback.emit_python_callback = emit_python_callback
    for primitive, rule in ((debugging.debug_callback_p, debugging.debug_callback_lowering),
                            (debugging.debug_print_p, debugging.debug_print_lowering_rule)):
        mlir.register_lowering(primitive, rule, platform=PLATFORM, cacheable=False)
    mlir.register_lowering(checkify.check_p, checkify.check_lowering_rule, platform=PLATFORM)


@_guarded("jax.experimental.sparse.linalg.spsolve is missing")
def _sparse_solve():
    """SciPy's, as on JAX's CPU. JAX does not import the module by itself: the rule is added when that adds its own."""
    from jax._src import callback
    from jax.interpreters import mlir
    register = mlir.register_lowering

    def solve(data, indices, starts, b):
        import scipy.sparse.linalg
        matrix = scipy.sparse.csr_matrix((data, indices, starts), shape=(b.size, b.size))
        return (scipy.sparse.linalg.spsolve(matrix, b).astype(b.dtype),)

    def lower(ctx, *operands, **_):
        return callback.emit_python_callback(ctx, solve, None, list(operands), ctx.avals_in, ctx.avals_out,
                                             has_side_effect=False, returns_token=False)[0]

    @functools.wraps(register)
    def register_lowering(primitive, rule, platform=None, **options):
        register(primitive, rule, platform=platform, **options)
        if platform == "cpu" and primitive.name == "spsolve":
            register(primitive, lower, platform=PLATFORM)

    mlir.register_lowering = register_lowering
    known = sys.modules.get("jax.experimental.sparse.linalg")
    if known is not None:
        register(known.spsolve_p, lower, platform=PLATFORM)


class _Buffer:
    """What jax.experimental.buffer_callback hands to its function: an array in the library's host memory, good during the call."""
    def __init__(self, array, writeable):
        self._array = array
        self.shape, self.ndim, self.dtype, self.writeable = array.shape, array.ndim, array.dtype, writeable

    def __array__(self, dtype=None, copy=None):
        array = self._array.view()
        array.flags.writeable = self.writeable
        if dtype is not None and dtype != array.dtype:
            if copy is False:
                raise ValueError(f"an array of {array.dtype} as {dtype} is a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class _BufferContext:
    def __init__(self, stage):
        self.stage = stage

    @property
    def stream(self):
        import jax
        raise jax.errors.JaxRuntimeError("XLA FFI GPU context is not available: the function runs on the host")


@_guarded("jax.experimental.buffer_callback is missing")
def _buffer_callbacks():
    from jax import tree
    from jax._src import buffer_callback
    from jax._src.interpreters import mlir
    stage = buffer_callback.ExecutionStage.EXECUTE

    def lower(ctx, *operands, callback, in_tree, out_tree, has_side_effect, input_output_aliases, **_):
        def fill(operands, results):
            for operand, result in input_output_aliases:
                if results[result].size:
                    results[result][...] = operands[operand]
                operands[operand] = results[result]
            given, named = tree.unflatten(in_tree, [_Buffer(array, False) for array in operands])
            filled = tree.unflatten(out_tree, [_Buffer(array, True) for array in results])
            if callback(_BufferContext(stage), filled, *given, **named) is not None:
                raise ValueError("buffer_callback callback must not return any values.")
        return _callback_call(ctx, callback, fill, operands, ctx.avals_in, ctx.avals_out, has_side_effect).results

    mlir.register_lowering(buffer_callback.buffer_callback_p, lower, platform=PLATFORM, cacheable=False)


@_guarded("custom_partitioning is missing on several devices")
def _partition_custom_functions():
    """The partitioner divides what such a function computes, operation by operation; its own rules are not asked."""
    from jax._src import core, custom_partitioning
    from jax._src.interpreters import mlir

    def lower(ctx, *values, call, **_):
        return mlir.lower_fun(core.jaxpr_as_fun(call), multiple_results=True)(ctx, *values)

    mlir.register_lowering(custom_partitioning.custom_partitioning_p, lower, platform=PLATFORM)


class _Struct(ctypes.Structure):
    """One of PJRT's C API, which begins with its size."""
    def __init__(self, *values):
        super().__init__(ctypes.sizeof(self), *values)


class _Extension(ctypes.Structure):
    """Those of the two extensions that follow have functions after it."""
    _fields_ = [("struct_size", ctypes.c_size_t), ("type", ctypes.c_int), ("next", ctypes.c_void_p), ("function", ctypes.c_void_p)]


class _Error(_Struct):
    _fields_ = [("struct_size", ctypes.c_size_t), ("extensions", ctypes.c_void_p), ("error", ctypes.c_void_p),
                ("message", ctypes.c_void_p), ("message_size", ctypes.c_size_t)]


class _CustomCall(_Struct):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("name_size", ctypes.c_size_t),
                ("api_version", ctypes.c_int), ("instantiate", ctypes.c_void_p), ("prepare", ctypes.c_void_p),
                ("initialize", ctypes.c_void_p), ("execute", ctypes.c_void_p)]


class _Type(_Struct):
    _fields_ = [("struct_size", ctypes.c_size_t), ("extensions", ctypes.c_void_p), ("name", ctypes.c_char_p),
                ("name_size", ctypes.c_size_t), ("number", ctypes.c_int64), ("info", ctypes.c_void_p)]


class _Extensions:
    """Calls functions of the plugin's extensions, the first of each."""
    CUSTOM_CALLS, FFI_TYPES = 0, 5  # PJRT_Extension_Type

    def __init__(self, c_api):
        api = ctypes.cast(_address(c_api), ctypes.POINTER(ctypes.c_void_p))
        self._destroy, self._message = (ctypes.CFUNCTYPE(None, ctypes.c_void_p)(api[i]) for i in (5, 6))
        self._functions = {}
        address = api[1]
        while address:
            extension = _Extension.from_address(address)
            self._functions[extension.type] = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(extension.function)
            address = extension.next

    def call(self, extension, arguments):
        error = self._functions[extension](ctypes.addressof(arguments))
        if error:
            seen = _Error(None, error)
            self._message(ctypes.addressof(seen))
            text = ctypes.string_at(seen.message, seen.message_size).decode()
            self._destroy(ctypes.addressof(seen))
            raise ValueError(text)


def _address(capsule):
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype, api.PyCapsule_GetPointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))


def _take_ffi_targets(c_api):
    """jax.ffi.register_ffi_target and register_ffi_type of this platform, also those of before."""
    from jax._src.lib import xla_client
    extensions = _Extensions(c_api)

    def register(name, function, platform, api_version=0, traits=0):
        name = name if isinstance(name, bytes) else name.encode()
        stages = function if isinstance(function, dict) else {"execute": function}
        addresses = {stage: _address(capsule) for stage, capsule in stages.items()}
        unknown = set(addresses) - {"instantiate", "prepare", "initialize", "execute"}
        if unknown:
            raise ValueError(f"custom call {name.decode()}: {', '.join(sorted(unknown))} is no stage of a handler")
        extensions.call(_Extensions.CUSTOM_CALLS, _CustomCall(
            name, len(name), api_version, *(addresses.get(stage) for stage in ("instantiate", "prepare", "initialize", "execute"))))

    def register_type(name, registration):
        """The type's number goes where the handler reads it."""
        name = name if isinstance(name, bytes) else name.encode()
        number = ctypes.c_int64.from_address(_address(registration["type_id"]))
        info, functions = registration.get("type_info"), (ctypes.c_void_p * 3)()
        if info is not None:  # the deleter, after the size and the list of extensions
            functions[0] = ctypes.c_void_p.from_address(_address(info) + 16).value
        arguments = _Type(None, name, len(name), number.value, ctypes.addressof(functions))
        extensions.call(_Extensions.FFI_TYPES, arguments)
        number.value = arguments.number

    xla_client.register_custom_call_handler(PLATFORM, register)
    xla_client.register_custom_type_handler(PLATFORM, register_type)


@_guarded("a child that is forked may never end")
def _keep_in_children():
    """A client that goes waits for threads, which a forked child does not have."""
    from jax._src import xla_bridge
    xla_bridge._backends.values()

    def keep():
        for client in xla_bridge._backends.values():
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(client))
    os.register_at_fork(after_in_child=keep)


def _name_lapack():
    """General eigenvalues are LAPACK's: SciPy's, unless the user names one, or this module stands alone."""
    try:
        from vxla import _lapack
    except ImportError:
        return
    _lapack.name_in(os.environ)


@_guarded("jax.profiler sees no device")
def _offer_profiler():
    """jaxlib 0.10 ends the process at a profiler's table that has more than the functions it knows; later ones ask for no fewer.

    The library reads this when it is loaded, and offers a profiler to nobody who has not said what they take.
    """
    import jaxlib.version
    known = 10 if tuple(jaxlib.version.__version_info__[:2]) < (0, 11) else 13
    os.environ.setdefault("VXLA_PJRT_PROFILER_ENTRIES", str(known))


def initialize():
    """Called by JAX when it looks for plugins."""
    path = library_path()
    if path is None:
        _logger.warning("vxla: pjrt_plugin_vxla.so is not beside %s", __file__)
        return
    _name_lapack()
    _offer_profiler()
    from jax._src import xla_bridge
    c_api = xla_bridge.register_plugin(PLATFORM, priority=400, library_path=path,
                                       options={"call_python": ctypes.cast(_call_python, ctypes.c_void_p).value})
    targets = _guarded("functions of jax.ffi are missing")(functools.partial(_take_ffi_targets, c_api))
    for step in (targets, _fail_quietly, _donate, _cache, _linear_algebra, _special_functions, _written_for_gpus, _export, _dlpack,
                 _python_callbacks, _buffer_callbacks, _sparse_solve, _partition_custom_functions, _keep_in_children):
        step()
