// Gravity between 40 bodies: broadcasts, a distance, sums over pairs
module @n_body {
  func.func public @main(%x: tensor<40x3xf32>) -> tensor<40x3xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %soft = stablehlo.constant dense<0.01> : tensor<40x40xf32>
    %a = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<40x3xf32>) -> tensor<40x40x3xf32>
    %b = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<40x3xf32>) -> tensor<40x40x3xf32>
    %d = stablehlo.subtract %b, %a : tensor<40x40x3xf32>
    %squares = stablehlo.multiply %d, %d : tensor<40x40x3xf32>
    %distance = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<40x40x3xf32>, tensor<f32>) -> tensor<40x40xf32>
    %safe = stablehlo.add %distance, %soft : tensor<40x40xf32>
    %inverse = stablehlo.rsqrt %safe : tensor<40x40xf32>
    %two = stablehlo.multiply %inverse, %inverse : tensor<40x40xf32>
    %three = stablehlo.multiply %two, %inverse : tensor<40x40xf32>
    %weights = stablehlo.broadcast_in_dim %three, dims = [0, 1] : (tensor<40x40xf32>) -> tensor<40x40x3xf32>
    %forces = stablehlo.multiply %d, %weights : tensor<40x40x3xf32>
    %result = stablehlo.reduce(%forces init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<40x40x3xf32>, tensor<f32>) -> tensor<40x3xf32>
    return %result : tensor<40x3xf32>
  }
}
