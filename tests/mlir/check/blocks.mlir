// Blocks that branch to one another.

func.func @sides_that_meet() {
  %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  %r:2 = call @choose(%s, %a) : (tensor<f32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<f32>)
  check.expect_eq_const %r#0, dense<[2.0, 4.0]> : tensor<2xf32>
  check.expect_eq_const %r#1, dense<4.0> : tensor<f32>
  %m = stablehlo.negate %s : tensor<f32>
  %q:2 = call @choose(%m, %a) : (tensor<f32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<f32>)
  check.expect_eq_const %q#0, dense<[1.0, 2.0]> : tensor<2xf32>
  check.expect_eq_const %q#1, dense<-2.0> : tensor<f32>
  func.return
}

func.func private @choose(%s: tensor<f32>, %a: tensor<2xf32>) -> (tensor<2xf32>, tensor<f32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %c = stablehlo.compare GT, %s, %z : (tensor<f32>, tensor<f32>) -> tensor<i1>
  cf.cond_br %c, ^twice(%a : tensor<2xf32>), ^meet(%a : tensor<2xf32>)
^twice(%x: tensor<2xf32>):
  %d = stablehlo.add %x, %x : tensor<2xf32>
  cf.br ^meet(%d : tensor<2xf32>)
^meet(%y: tensor<2xf32>):
  %t = stablehlo.add %s, %one : tensor<f32>
  return %y, %t : tensor<2xf32>, tensor<f32>
}

// -----

func.func @a_loop_in_a_loop() {
  %r:2 = call @sum_of_products() : () -> (tensor<i32>, tensor<i32>)
  check.expect_eq_const %r#0, dense<18> : tensor<i32>
  check.expect_eq_const %r#1, dense<4> : tensor<i32>
  func.return
}

// For i below 4, for j below i: the sum grows by i + j; then i.
func.func private @sum_of_products() -> (tensor<i32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  "cf.br"(%zero, %zero)[^outer] : (tensor<i32>, tensor<i32>) -> ()
^outer(%i: tensor<i32>, %sum: tensor<i32>):
  %c = stablehlo.compare LT, %i, %four : (tensor<i32>, tensor<i32>) -> tensor<i1>
  "cf.cond_br"(%c, %zero, %sum)[^inner, ^done] <{operandSegmentSizes = array<i32: 1, 2, 0>}> : (tensor<i1>, tensor<i32>, tensor<i32>) -> ()
^inner(%j: tensor<i32>, %part: tensor<i32>):
  %stop = stablehlo.compare GE, %j, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
  cf.cond_br %stop, ^next, ^body
^body:
  %ij = stablehlo.add %i, %j : tensor<i32>
  %more = stablehlo.add %part, %ij : tensor<i32>
  %j1 = stablehlo.add %j, %one : tensor<i32>
  cf.br ^inner(%j1, %more : tensor<i32>, tensor<i32>)
^next:
  %i1 = stablehlo.add %i, %one : tensor<i32>
  cf.br ^outer(%i1, %part : tensor<i32>, tensor<i32>)
^done:
  return %sum, %i : tensor<i32>, tensor<i32>
}

// -----

func.func @one_block_is_a_loop() {
  %r = call @halve() : () -> tensor<f32>
  check.expect_eq_const %r, dense<0.625> : tensor<f32>
  func.return
}

func.func private @halve() -> tensor<f32> {
  %x = stablehlo.constant dense<10.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %half = stablehlo.constant dense<0.5> : tensor<f32>
  cf.br ^again(%x : tensor<f32>)
^again(%v: tensor<f32>):
  %h = stablehlo.multiply %v, %half : tensor<f32>
  %c = stablehlo.compare GE, %h, %one : (tensor<f32>, tensor<f32>) -> tensor<i1>
  cf.cond_br %c, ^again(%h : tensor<f32>), ^out(%h : tensor<f32>)
^out(%y: tensor<f32>):
  return %y : tensor<f32>
}

// -----

func.func @two_returns_and_arith() {
  %c3 = arith.constant 3 : i32
  %r = call @sign(%c3) : (i32) -> tensor<i32>
  check.expect_eq_const %r, dense<1> : tensor<i32>
  func.return
}

func.func private @sign(%n: i32) -> tensor<i32> {
  %c0 = arith.constant 0 : i32
  %p = stablehlo.constant dense<1> : tensor<i32>
  %m = stablehlo.constant dense<-1> : tensor<i32>
  %c = arith.cmpi sgt, %n, %c0 : i32
  cf.cond_br %c, ^positive, ^negative
^positive:
  return %p : tensor<i32>
^negative:
  return %m : tensor<i32>
}

// -----

func.func @left_in_the_middle(%n: tensor<i32>) -> tensor<i32> {
  cf.br ^head(%n : tensor<i32>)
^head(%i: tensor<i32>):
  // expected-error@+1 {{branching to block with undefined name}}
  cf.br ^nowhere(%i : tensor<i32>)
}
