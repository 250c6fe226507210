// Quantized tensors: the numbers follow from the specification's quantize and dequantize.

func.func @quantize() {
  %0 = stablehlo.constant dense<[4.0, 15.0]> : tensor<2xf32>
  %1 = stablehlo.uniform_quantize %0 : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32:0, {0.1:-30,0.5:-20}>>
  %2 = stablehlo.bitcast_convert %1 : (tensor<2x!quant.uniform<i8:f32:0, {0.1:-30,0.5:-20}>>) -> tensor<2xi8>
  check.expect_eq_const %2, dense<[10, 10]> : tensor<2xi8>
  %3 = stablehlo.uniform_dequantize %1 : (tensor<2x!quant.uniform<i8:f32:0, {0.1:-30,0.5:-20}>>) -> tensor<2xf32>
  check.expect_almost_eq %3, %0 : tensor<2xf32>
  func.return
}

!q = !quant.uniform<i8<-127:127>:f32, 0.5>
func.func @add_quantized() {
  %0 = stablehlo.constant dense<[1.0, 100.0, -2.0]> : tensor<3xf32>
  %1 = stablehlo.uniform_quantize %0 : (tensor<3xf32>) -> tensor<3x!q>
  %2 = stablehlo.add %1, %1 : tensor<3x!q>
  %3 = stablehlo.uniform_dequantize %2 : (tensor<3x!q>) -> tensor<3xf32>
  check.expect_eq_const %3, dense<[2.0, 63.5, -4.0]> : tensor<3xf32>
  %4 = stablehlo.constant() {value = dense<[1, 2, 3]> : tensor<3xi8>} : () -> tensor<3x!q>
  %5 = "stablehlo.dot_general"(%1, %4) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>} : (tensor<3x!q>, tensor<3x!q>) -> tensor<!quant.uniform<i32:f32, 0.25>>
  %6 = stablehlo.uniform_dequantize %5 : (tensor<!quant.uniform<i32:f32, 0.25>>) -> tensor<f32>
  check.expect_eq_const %6, dense<61.0> : tensor<f32>
  func.return
}

func.func @unsigned_storage() {
  %0 = stablehlo.constant dense<[5, 250]> : tensor<2xui8>
  %1 = stablehlo.bitcast_convert %0 : (tensor<2xui8>) -> tensor<2x!quant.uniform<u8<0:254>:f32, 0.5:3>>
  %2 = stablehlo.uniform_dequantize %1 : (tensor<2x!quant.uniform<u8<0:254>:f32, 0.5:3>>) -> tensor<2xf32>
  check.expect_eq_const %2, dense<[1.0, 123.5]> : tensor<2xf32>
  func.return
}

// The result of the check is the function's, as conformance files have it.
func.func @returns_its_check() -> tensor<i1> {
  %0 = stablehlo.constant dense<[0.5, -3.0, 200.0]> : tensor<3xf32>
  %1 = stablehlo.constant dense<[1.0, -6.0, 63.5]> : tensor<3xf32>
  %2 = stablehlo.uniform_quantize %0 : (tensor<3xf32>) -> tensor<3x!q>
  %3 = stablehlo.add %2, %2 : tensor<3x!q>
  %4 = stablehlo.uniform_dequantize %3 : (tensor<3x!q>) -> tensor<3xf32>
  %5 = stablehlo.custom_call @check.eq(%4, %1) : (tensor<3xf32>, tensor<3xf32>) -> tensor<i1>
  return %5 : tensor<i1>
}

// Quantized values are probed and compared as their integers are.
func.func @probes() {
  %0 = stablehlo.constant dense<[0.5, -3.0]> : tensor<2xf32>
  %1 = stablehlo.uniform_quantize %0 : (tensor<2xf32>) -> tensor<2x!q>
  %2 = stablehlo.bitcast_convert %1 : (tensor<2x!q>) -> tensor<2xi8>
  %3 = interpreter.probe %2, probe_id = "q" : tensor<2xi8>
  check.expect_serialized_eq %2, probe_id = "q" : tensor<2xi8>
  check.expect_eq_const %3, dense<[1, -6]> : tensor<2xi8>
  func.return
}
