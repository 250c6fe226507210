// Quantised addition of bytes with scales and zero points
module @quantized {
  func.func public @main(%a: tensor<64x!quant.uniform<i8:f32, 0.05:3>>, %b: tensor<64x!quant.uniform<i8:f32, 0.1:-2>>) -> tensor<64x!quant.uniform<i8:f32, 0.2:0>> {
    %sum = "stablehlo.add"(%a, %b) : (tensor<64x!quant.uniform<i8:f32, 0.05:3>>, tensor<64x!quant.uniform<i8:f32, 0.1:-2>>) -> tensor<64x!quant.uniform<i8:f32, 0.2:0>>
    return %sum : tensor<64x!quant.uniform<i8:f32, 0.2:0>>
  }
}
