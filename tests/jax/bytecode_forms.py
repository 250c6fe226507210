"""Bytecode that MLIR writes of forms which JAX's programs do not have: vxla reads it as it reads the text.

Usage: bytecode_forms.py VXLA. Each program goes as MLIR's own bytecode and as StableHLO's artifact of two versions; what a version cannot hold
StableHLO refuses, and that form is left out.
"""

import contextlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile

from jax._src.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

PROGRAMS = {
    "tuples": """func.func @main(%a: tensor<2xf32>) -> tuple<tensor<2xf32>, tuple<tensor<2xf32>, tensor<i32>>> {
  %c = stablehlo.constant dense<3> : tensor<i32>
  %t = stablehlo.tuple %a, %c : tuple<tensor<2xf32>, tensor<i32>>
  %u = stablehlo.tuple %a, %t : tuple<tensor<2xf32>, tuple<tensor<2xf32>, tensor<i32>>>
  return %u : tuple<tensor<2xf32>, tuple<tensor<2xf32>, tensor<i32>>>
}""",
    "bounds": """func.func @main(%a: tensor<?x4xf32, #stablehlo.bounds<3, ?>>) -> tensor<?x4xf32, #stablehlo.bounds<3, ?>> {
  %r = stablehlo.negate %a : tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  return %r : tensor<?x4xf32, #stablehlo.bounds<3, ?>>
}""",
    "algorithms": """func.func @main(%a: tensor<3x4xbf16>, %b: tensor<4x2xbf16>) -> tensor<3x2xf32> {
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = bf16,
      rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1,
      allow_imprecise_accumulation = false> : (tensor<3x4xbf16>, tensor<4x2xbf16>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}""",
    "custom calls": """func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.custom_call @f(%a) {output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0,
      operand_tuple_indices = []>], operand_layouts = [dense<0> : tensor<1xindex>], result_layouts = [dense<0> : tensor<1xindex>],
      api_version = 4 : i32, backend_config = {a = [1.0 : f32, true], b = 1 : i64, c = "z"}} : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}""",
    "tokens": """func.func @main(%a: tensor<4xf32>, %t: !stablehlo.token) -> (tensor<4xf32>, !stablehlo.token) {
  %u = stablehlo.after_all %t, %t : !stablehlo.token
  %r:2 = "stablehlo.infeed"(%u) <{infeed_config = "x", layout = [[0]]}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  %o = "stablehlo.outfeed"(%a, %r#1) <{outfeed_config = "y"}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  return %r#0, %o : tensor<4xf32>, !stablehlo.token
}""",
    "accuracies": """func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %r = "stablehlo.exponential"(%a) {result_accuracy = #stablehlo.result_accuracy<atol = 1.000000e-05, rtol = 0.000000e+00, ulps = 1,
      mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}""",
    "element types": """func.func @main(%a: tensor<4xf8E4M3FN>, %b: tensor<4xi4>, %c: tensor<4xcomplex<f64>>, %d: tensor<4xf4E2M1FN>,
    %e: tensor<4xf6E2M3FN>, %f: tensor<4xf6E3M2FN>, %g: tensor<4xf8E8M0FNU>, %h: tensor<4xui2>, %i: tensor<4xi1>, %j: tensor<4xf8E3M4>,
    %k: tensor<4xf8E4M3B11FNUZ>) -> tensor<4xf32> {
  %r = stablehlo.convert %a : (tensor<4xf8E4M3FN>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}""",
    "chlo": """func.func @main(%a: tensor<4xf32>, %b: tensor<1xf32>) -> (tensor<4xi1>, tensor<4xf32>, tensor<2xf32>, tensor<2xi32>) {
  %r = chlo.broadcast_compare %a, %b {comparison_direction = #chlo<comparison_direction LT>,
      compare_type = #chlo<comparison_type TOTALORDER>} : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xi1>
  %s = chlo.erf_inv %a : tensor<4xf32> -> tensor<4xf32>
  %v, %i = chlo.top_k(%a, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)
  return %r, %s, %v, %i : tensor<4xi1>, tensor<4xf32>, tensor<2xf32>, tensor<2xi32>
}""",
    "resources": """module {
func.func @main() -> tensor<3xf32> {
  %c = stablehlo.constant dense_resource<blob> : tensor<3xf32>
  return %c : tensor<3xf32>
}
}
{-# dialect_resources: { builtin: { blob: "0x040000000000803F0000004000004040" } } #-}""",
    "convolutions": """func.func @main(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x5xf32>) -> tensor<1x8x8x5xf32> {
  %r = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[1, 1], [1, 1]], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64,
      precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision DEFAULT>]}
      : (tensor<1x8x8x4xf32>, tensor<3x3x4x5xf32>) -> tensor<1x8x8x5xf32>
  return %r : tensor<1x8x8x5xf32>
}""",
    "branches and composites": """func.func @main(%i: tensor<i32>, %a: tensor<4xf32>) -> tensor<4xf32> {
  %r = "stablehlo.case"(%i) ({
    %0 = stablehlo.negate %a : tensor<4xf32>
    stablehlo.return %0 : tensor<4xf32>
  }, {
    %0 = stablehlo.sine %a : tensor<4xf32>
    stablehlo.return %0 : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  %b = stablehlo.composite "my.op" %r {composite_attributes = {n = 2 : i64}, decomposition = @f} : (tensor<4xf32>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}
func.func private @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.cosine %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}""",
}


@contextlib.contextmanager
def silent_errors():
    """Without what C++ writes of the versions that cannot hold a program."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def forms_of(text):
    """The bytes of each form that can hold the program, by its name."""
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        bytecode = io.BytesIO()
        module.operation.write_bytecode(bytecode)
        forms = {"mlir": bytecode.getvalue()}
        for version in ("1.0.0", stablehlo.get_current_version()):
            with silent_errors(), contextlib.suppress(ValueError, RuntimeError):
                forms[version] = stablehlo.serialize_portable_artifact_str(str(module), version)
    return forms


def main():
    vxla, failed, read = sys.argv[1], 0, 0

    def converted(path):
        run = subprocess.run([vxla, "convert", path, "-", "--to", "stablehlo"], capture_output=True, text=True)
        return run.stdout if run.returncode == 0 else run.stderr

    with tempfile.TemporaryDirectory() as folder:
        for name, text in PROGRAMS.items():
            path = pathlib.Path(folder) / "program.mlir"
            path.write_text(text)
            wanted = converted(path)
            for form, data in forms_of(text).items():
                path = pathlib.Path(folder) / "program.mlirbc"
                path.write_bytes(data)
                got = converted(path)
                read += 1
                if got != wanted or "func.func" not in got:
                    failed += 1
                    print(f"{name}, {form}:\n{got}instead of\n{wanted}")
    print(f"{read - failed} of {read} forms of {len(PROGRAMS)} programs are read as their text is")
    return 1 if failed or read < 2 * len(PROGRAMS) - 2 else 0


if __name__ == "__main__":
    sys.exit(main())
