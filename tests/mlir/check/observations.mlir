// Checks, probes and prints are values and effects like any others: returned, passed on, in functions that are called,
// loops, branches and the programs of several devices.

func.func @returned() -> (tensor<i1>, tensor<3xf32>) {
  %0 = stablehlo.constant dense<[1.5, -2.0, 0.25]> : tensor<3xf32>
  %1 = stablehlo.add %0, %0 : tensor<3xf32>
  %2 = stablehlo.constant dense<[3.0, -4.0, 0.5]> : tensor<3xf32>
  %3 = stablehlo.custom_call @check.eq(%1, %2) : (tensor<3xf32>, tensor<3xf32>) -> tensor<i1>
  return %3, %1 : tensor<i1>, tensor<3xf32>
}

func.func private @agree(%a: tensor<2xi32>, %b: tensor<2xi32>) -> tensor<i1> {
  %0 = stablehlo.custom_call @check.eq(%a, %b) : (tensor<2xi32>, tensor<2xi32>) -> tensor<i1>
  return %0 : tensor<i1>
}

// The result decides a branch, a mask and a reduction's region.
func.func @passed_on() -> tensor<i1> {
  %a = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
  %0 = call @agree(%a, %a) : (tensor<2xi32>, tensor<2xi32>) -> tensor<i1>
  %1 = call @agree(%a, %a) : (tensor<2xi32>, tensor<2xi32>) -> tensor<i1>
  %2 = stablehlo.and %0, %1 : tensor<i1>
  check.expect_eq_const %2, dense<true> : tensor<i1>
  %3 = "stablehlo.if"(%2) ({
    check.expect_eq_const %a, dense<[3, 4]> : tensor<2xi32>
    stablehlo.return %a : tensor<2xi32>
  }, {
    check.expect_eq_const %a, dense<[0, 0]> : tensor<2xi32>
    %n = stablehlo.negate %a : tensor<2xi32>
    stablehlo.return %n : tensor<2xi32>
  }) : (tensor<i1>) -> tensor<2xi32>
  check.expect_eq %3, %a : tensor<2xi32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %4 = "stablehlo.reduce"(%a, %z) ({
    ^bb0(%x: tensor<i32>, %y: tensor<i32>):
      %p = stablehlo.add %x, %y : tensor<i32>
      %q = stablehlo.multiply %x, %y : tensor<i32>
      %r = stablehlo.select %2, %p, %q : tensor<i1>, tensor<i32>
      stablehlo.return %r : tensor<i32>
  }) {dimensions = array<i64: 0>} : (tensor<2xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %4, dense<7> : tensor<i32>
  return %2 : tensor<i1>
}

// -----

func.func private @square(%a: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.multiply %a, %a : tensor<i32>
  %1 = interpreter.probe %0, probe_id = "square" : tensor<i32>
  return %1 : tensor<i32>
}

// Two loops, one in the other, a branch in the inner one and a function: each trip is kept.
func.func @probes_in_loops() {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c2 = stablehlo.constant dense<2> : tensor<i32>
  %c3 = stablehlo.constant dense<3> : tensor<i32>
  %r:2 = stablehlo.while(%i = %c0, %s = %c0) : tensor<i32>, tensor<i32>
  cond {
    %c = stablehlo.compare LT, %i, %c2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %q:2 = stablehlo.while(%j = %c0, %t = %s) : tensor<i32>, tensor<i32>
    cond {
      %c = stablehlo.compare LT, %j, %c3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %odd = stablehlo.compare EQ, %j, %c1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %b = "stablehlo.if"(%odd) ({
        %x = interpreter.probe %i, probe_id = "odd" : tensor<i32>
        stablehlo.return %x : tensor<i32>
      }, {
        stablehlo.return %c0 : tensor<i32>
      }) : (tensor<i1>) -> tensor<i32>
      %k = stablehlo.add %t, %c1 : tensor<i32>
      %d = func.call @square(%k) : (tensor<i32>) -> tensor<i32>
      %n = stablehlo.add %j, %c1 : tensor<i32>
      stablehlo.return %n, %k : tensor<i32>, tensor<i32>
    }
    %n = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %n, %q#1 : tensor<i32>, tensor<i32>
  }
  %c16 = stablehlo.constant dense<16> : tensor<i32>
  %c36 = stablehlo.constant dense<36> : tensor<i32>
  check.expect_serialized_eq %c1, probe_id = "square" : tensor<i32>
  check.expect_serialized_eq %c16, probe_id = "square", iter = 3 : tensor<i32>
  check.expect_serialized_eq %c36, probe_id = "square", iter = 5 : tensor<i32>
  check.expect_serialized_eq %c0, probe_id = "odd", iter = 0 : tensor<i32>
  check.expect_serialized_eq %c1, probe_id = "odd", iter = 1 : tensor<i32>
  check.expect_eq_const %r#1, dense<6> : tensor<i32>
  func.return
}

// -----

// Checks and probes of two devices; what they keep counts device by device.
func.func @twice(%x: tensor<2xi32>) -> (tensor<2xi32>, tensor<i1>) {
  %0 = stablehlo.add %x, %x : tensor<2xi32>
  %1 = interpreter.probe %0, probe_id = "twice" : tensor<2xi32>
  check.expect_serialized_eq %0, probe_id = "own" : tensor<2xi32>
  %2 = stablehlo.custom_call @check.expect_eq(%0, %1) {has_side_effect = true} : (tensor<2xi32>, tensor<2xi32>) -> tensor<i1>
  return %1, %2 : tensor<2xi32>, tensor<i1>
}
func.func @once(%x: tensor<2xi32>) -> (tensor<2xi32>, tensor<i1>) {
  %0 = stablehlo.add %x, %x : tensor<2xi32>
  %1 = interpreter.probe %0, probe_id = "own" : tensor<2xi32>
  %2 = stablehlo.constant dense<true> : tensor<i1>
  return %1, %2 : tensor<2xi32>, tensor<i1>
}
func.func @on_devices() {
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %r:4 = "interpreter.run_parallel"(%a, %a) {programs = [[@once], [@twice]]}
    : (tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<i1>, tensor<2xi32>, tensor<i1>)
  check.expect_eq_const %r#3, dense<true> : tensor<i1>
  check.expect_serialized_eq %r#0, probe_id = "twice" : tensor<2xi32>
  func.return
}
