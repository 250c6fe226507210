// Attention of four heads: two products and a softmax, whose scores need not reach memory
module @attention {
  func.func public @main(%q: tensor<4x24x16xf32>, %k: tensor<4x24x16xf32>, %v: tensor<4x24x16xf32>) -> tensor<4x24x16xf32> {
    %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %quarter = stablehlo.constant dense<0.25> : tensor<4x24x24xf32>
    %products = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<4x24x16xf32>, tensor<4x24x16xf32>) -> tensor<4x24x24xf32>
    %scores = stablehlo.multiply %products, %quarter : tensor<4x24x24xf32>
    %most = stablehlo.reduce(%scores init: %least) applies stablehlo.maximum across dimensions = [2] : (tensor<4x24x24xf32>, tensor<f32>) -> tensor<4x24xf32>
    %rows = stablehlo.broadcast_in_dim %most, dims = [0, 1] : (tensor<4x24xf32>) -> tensor<4x24x24xf32>
    %shifted = stablehlo.subtract %scores, %rows : tensor<4x24x24xf32>
    %powers = stablehlo.exponential %shifted : tensor<4x24x24xf32>
    %sums = stablehlo.reduce(%powers init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<4x24x24xf32>, tensor<f32>) -> tensor<4x24xf32>
    %all = stablehlo.broadcast_in_dim %sums, dims = [0, 1] : (tensor<4x24xf32>) -> tensor<4x24x24xf32>
    %weights = stablehlo.divide %powers, %all : tensor<4x24x24xf32>
    %result = stablehlo.dot_general %weights, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x24x24xf32>, tensor<4x24x16xf32>) -> tensor<4x24x16xf32>
    return %result : tensor<4x24x16xf32>
  }
}
