// Fifty steps of heat in a plate: a loop over shifted slices
module @heat {
  func.func public @main(%start: tensor<34x34xf32>) -> tensor<34x34xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %end = stablehlo.constant dense<50> : tensor<i32>
    %fill = stablehlo.constant dense<0.0> : tensor<f32>
    %quarter = stablehlo.constant dense<0.25> : tensor<32x32xf32>
    %result:2 = stablehlo.while(%i = %zero, %u = %start) : tensor<i32>, tensor<34x34xf32>
    cond {
      %more = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %north = stablehlo.slice %u [0:32, 1:33] : (tensor<34x34xf32>) -> tensor<32x32xf32>
      %south = stablehlo.slice %u [2:34, 1:33] : (tensor<34x34xf32>) -> tensor<32x32xf32>
      %west = stablehlo.slice %u [1:33, 0:32] : (tensor<34x34xf32>) -> tensor<32x32xf32>
      %east = stablehlo.slice %u [1:33, 2:34] : (tensor<34x34xf32>) -> tensor<32x32xf32>
      %a = stablehlo.add %north, %south : tensor<32x32xf32>
      %b = stablehlo.add %west, %east : tensor<32x32xf32>
      %c = stablehlo.add %a, %b : tensor<32x32xf32>
      %mean = stablehlo.multiply %c, %quarter : tensor<32x32xf32>
      %whole = stablehlo.pad %mean, %fill, low = [1, 1], high = [1, 1], interior = [0, 0] : (tensor<32x32xf32>, tensor<f32>) -> tensor<34x34xf32>
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %next, %whole : tensor<i32>, tensor<34x34xf32>
    }
    return %result#1 : tensor<34x34xf32>
  }
}
