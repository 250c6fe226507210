// One generation of Conway's life on a torus: integers, rolls and masks
module @life {
  func.func public @main(%seed: tensor<24x24xi32>) -> tensor<24x24xi32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<24x24xi32>
    %two = stablehlo.constant dense<2> : tensor<24x24xi32>
    %three = stablehlo.constant dense<3> : tensor<24x24xi32>
    %alive = stablehlo.and %seed, %one : tensor<24x24xi32>
    %top = stablehlo.slice %alive [23:24, 0:24] : (tensor<24x24xi32>) -> tensor<1x24xi32>
    %bottom = stablehlo.slice %alive [0:1, 0:24] : (tensor<24x24xi32>) -> tensor<1x24xi32>
    %tall = stablehlo.concatenate %top, %alive, %bottom, dim = 0 : (tensor<1x24xi32>, tensor<24x24xi32>, tensor<1x24xi32>) -> tensor<26x24xi32>
    %left = stablehlo.slice %tall [0:26, 23:24] : (tensor<26x24xi32>) -> tensor<26x1xi32>
    %right = stablehlo.slice %tall [0:26, 0:1] : (tensor<26x24xi32>) -> tensor<26x1xi32>
    %torus = stablehlo.concatenate %left, %tall, %right, dim = 1 : (tensor<26x1xi32>, tensor<26x24xi32>, tensor<26x1xi32>) -> tensor<26x26xi32>
    %nine = "stablehlo.reduce_window"(%torus, %zero) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %sum = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %sum : tensor<i32>
    }) {window_dimensions = array<i64: 3, 3>} : (tensor<26x26xi32>, tensor<i32>) -> tensor<24x24xi32>
    %neighbours = stablehlo.subtract %nine, %alive : tensor<24x24xi32>
    %born = stablehlo.compare EQ, %neighbours, %three : (tensor<24x24xi32>, tensor<24x24xi32>) -> tensor<24x24xi1>
    %stays = stablehlo.compare EQ, %neighbours, %two : (tensor<24x24xi32>, tensor<24x24xi32>) -> tensor<24x24xi1>
    %was = stablehlo.compare EQ, %alive, %one : (tensor<24x24xi32>, tensor<24x24xi32>) -> tensor<24x24xi1>
    %survives = stablehlo.and %stays, %was : tensor<24x24xi1>
    %lives = stablehlo.or %born, %survives : tensor<24x24xi1>
    %result = stablehlo.convert %lives : (tensor<24x24xi1>) -> tensor<24x24xi32>
    return %result : tensor<24x24xi32>
  }
}
