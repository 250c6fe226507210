// Layer normalisation: mean, variance and a scaled result of each row
module @layer_norm {
  func.func public @main(%x: tensor<20x96xf32>, %scale: tensor<96xf32>) -> tensor<20x96xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %count = stablehlo.constant dense<96.0> : tensor<20xf32>
    %epsilon = stablehlo.constant dense<1.0e-5> : tensor<20xf32>
    %sums = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<20x96xf32>, tensor<f32>) -> tensor<20xf32>
    %mean = stablehlo.divide %sums, %count : tensor<20xf32>
    %means = stablehlo.broadcast_in_dim %mean, dims = [0] : (tensor<20xf32>) -> tensor<20x96xf32>
    %centred = stablehlo.subtract %x, %means : tensor<20x96xf32>
    %squares = stablehlo.multiply %centred, %centred : tensor<20x96xf32>
    %square_sums = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<20x96xf32>, tensor<f32>) -> tensor<20xf32>
    %variance = stablehlo.divide %square_sums, %count : tensor<20xf32>
    %safe = stablehlo.add %variance, %epsilon : tensor<20xf32>
    %inverse = stablehlo.rsqrt %safe : tensor<20xf32>
    %factors = stablehlo.broadcast_in_dim %inverse, dims = [0] : (tensor<20xf32>) -> tensor<20x96xf32>
    %normal = stablehlo.multiply %centred, %factors : tensor<20x96xf32>
    %scales = stablehlo.broadcast_in_dim %scale, dims = [1] : (tensor<96xf32>) -> tensor<20x96xf32>
    %result = stablehlo.multiply %normal, %scales : tensor<20x96xf32>
    return %result : tensor<20x96xf32>
  }
}
