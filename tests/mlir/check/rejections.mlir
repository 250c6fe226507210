// Each section is rejected on the line that it names.

func.func @shapes(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{the same shape}}
  %0 = "stablehlo.add"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

func.func @result(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.abs %a : tensor<2x3xf32>
  // expected-error @+1 {{permutation}}
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}

// -----

// expected-error@below {{zero point}}
func.func @zero_point(%a: tensor<2x!quant.uniform<i8:f32, 0.5:300>>) {
  func.return
}

// -----

func.func @scales(%a: tensor<2xf32>) {
  // expected-error@+1 {{scales}}
  %0 = stablehlo.uniform_quantize %a : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.5, 0.5}>>
  func.return
}

// -----

func.func @einsum(%a: tensor<2x3xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{dimensions}}
  %0 = stablehlo.unary_einsum %a, config = "abc->a" : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
