// softmax of rows, as JAX writes it: two reductions and what lies between, one kernel
module @softmax {
  func.func public @main(%x: tensor<33x257xf32>) -> tensor<33x257xf32> {
    %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %most = stablehlo.reduce(%x init: %least) applies stablehlo.maximum across dimensions = [1] : (tensor<33x257xf32>, tensor<f32>) -> tensor<33xf32>
    %rows = stablehlo.broadcast_in_dim %most, dims = [0] : (tensor<33xf32>) -> tensor<33x257xf32>
    %shifted = stablehlo.subtract %x, %rows : tensor<33x257xf32>
    %powers = stablehlo.exponential %shifted : tensor<33x257xf32>
    %sums = stablehlo.reduce(%powers init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<33x257xf32>, tensor<f32>) -> tensor<33xf32>
    %all = stablehlo.broadcast_in_dim %sums, dims = [0] : (tensor<33xf32>) -> tensor<33x257xf32>
    %result = stablehlo.divide %powers, %all : tensor<33x257xf32>
    return %result : tensor<33x257xf32>
  }
}
