// The gradient of an embedding: rows added where their words are, many of them twice
module @embedding {
  func.func public @main(%words: tensor<60xi32>, %g: tensor<60x12xf32>) -> tensor<8x12xf32> {
    %table = stablehlo.constant dense<0.0> : tensor<8x12xf32>
    %index = stablehlo.reshape %words : (tensor<60xi32>) -> tensor<60x1xi32>
    %result = "stablehlo.scatter"(%table, %index, %g) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %sum = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %sum : tensor<f32>
    }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<8x12xf32>, tensor<60x1xi32>, tensor<60x12xf32>) -> tensor<8x12xf32>
    return %result : tensor<8x12xf32>
  }
}
