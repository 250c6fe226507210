// A step of gradient descent on one layer: a product, its residual, the gradient, the new weights
module @train_step {
  func.func public @main(%w: tensor<32x8xf32>, %x: tensor<48x32xf32>, %y: tensor<48x8xf32>) -> (tensor<32x8xf32>, tensor<f32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %rate = stablehlo.constant dense<1.0e-3> : tensor<32x8xf32>
    %guess = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<48x32xf32>, tensor<32x8xf32>) -> tensor<48x8xf32>
    %residual = stablehlo.subtract %guess, %y : tensor<48x8xf32>
    %squares = stablehlo.multiply %residual, %residual : tensor<48x8xf32>
    %loss = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<48x8xf32>, tensor<f32>) -> tensor<f32>
    %gradient = stablehlo.dot_general %x, %residual, contracting_dims = [0] x [0] : (tensor<48x32xf32>, tensor<48x8xf32>) -> tensor<32x8xf32>
    %step = stablehlo.multiply %gradient, %rate : tensor<32x8xf32>
    %next = stablehlo.subtract %w, %step : tensor<32x8xf32>
    return %next, %loss : tensor<32x8xf32>, tensor<f32>
  }
}
