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

// -----

func.func @a_loop_left_in_the_middle() {
  %n = stablehlo.constant dense<7> : tensor<i32>
  %r:2 = call @first_divisor(%n) : (tensor<i32>) -> (tensor<i32>, tensor<f32>)
  check.expect_eq_const %r#0, dense<7> : tensor<i32>
  check.expect_eq_const %r#1, dense<2.5> : tensor<f32>
  %m = stablehlo.constant dense<35> : tensor<i32>
  %q:2 = call @first_divisor(%m) : (tensor<i32>) -> (tensor<i32>, tensor<f32>)
  check.expect_eq_const %q#0, dense<5> : tensor<i32>
  check.expect_eq_const %q#1, dense<1.5> : tensor<f32>
  %p = stablehlo.constant dense<1> : tensor<i32>
  %s:2 = call @first_divisor(%p) : (tensor<i32>) -> (tensor<i32>, tensor<f32>)
  check.expect_eq_const %s#0, dense<0> : tensor<i32>
  check.expect_eq_const %s#1, dense<0.0> : tensor<f32>
  func.return
}

// The loop's first block decides that it ends, another one that a divisor is found; half a unit for each number that was tried.
func.func private @first_divisor(%n: tensor<i32>) -> (tensor<i32>, tensor<f32>) {
  %two = stablehlo.constant dense<2> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %none = stablehlo.constant dense<0.0> : tensor<f32>
  %half = stablehlo.constant dense<0.5> : tensor<f32>
  cf.br ^head(%two, %none : tensor<i32>, tensor<f32>)
^head(%i: tensor<i32>, %tried: tensor<f32>):
  %c = stablehlo.compare LE, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  cf.cond_br %c, ^try, ^out(%zero, %tried : tensor<i32>, tensor<f32>)
^try:
  %left = stablehlo.remainder %n, %i : tensor<i32>
  %found = stablehlo.compare EQ, %left, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %more = stablehlo.add %tried, %half : tensor<f32>
  cf.cond_br %found, ^out(%i, %tried : tensor<i32>, tensor<f32>), ^next
^next:
  %i1 = stablehlo.add %i, %one : tensor<i32>
  cf.br ^head(%i1, %more : tensor<i32>, tensor<f32>)
^out(%d: tensor<i32>, %t: tensor<f32>):
  return %d, %t : tensor<i32>, tensor<f32>
}

// -----

func.func @a_loop_entered_in_the_middle() {
  %c3 = arith.constant 3 : i32
  %r = call @two_heads(%c3) : (i32) -> tensor<2xf32>
  check.expect_eq_const %r, dense<[10.0, 20.0]> : tensor<2xf32>
  %m1 = arith.constant -1 : i32
  %s = call @two_heads(%m1) : (i32) -> tensor<2xf32>
  check.expect_eq_const %s, dense<[5.0, 10.0]> : tensor<2xf32>
  func.return
}

// Below zero the sum starts at the second block of the loop, which has no single first one.
func.func private @two_heads(%n: i32) -> tensor<2xf32> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %c = arith.cmpi sge, %n, %c0 : i32
  cf.cond_br %c, ^first(%n, %x : i32, tensor<2xf32>), ^second(%n, %x : i32, tensor<2xf32>)
^first(%i: i32, %a: tensor<2xf32>):
  %twice = stablehlo.add %a, %a : tensor<2xf32>
  %i1 = arith.subi %i, %c1 : i32
  cf.br ^second(%i1, %twice : i32, tensor<2xf32>)
^second(%j: i32, %b: tensor<2xf32>):
  %more = arith.cmpi sgt, %j, %c0 : i32
  cf.cond_br %more, ^first(%j, %b : i32, tensor<2xf32>), ^done
^done:
  %five = stablehlo.constant dense<5.0> : tensor<2xf32>
  %ten = stablehlo.constant dense<1.25> : tensor<2xf32>
  %big = arith.cmpi sge, %n, %c0 : i32
  cf.cond_br %big, ^scaled(%ten : tensor<2xf32>), ^scaled(%five : tensor<2xf32>)
^scaled(%s: tensor<2xf32>):
  %r = stablehlo.multiply %b, %s : tensor<2xf32>
  return %r : tensor<2xf32>
}
