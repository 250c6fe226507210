func.func @sizes_from_constants() {
  %a = stablehlo.constant dense<[[1, 2, 3]]> : tensor<1x3xi32>
  %d = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
  %0 = stablehlo.dynamic_broadcast_in_dim %a, %d, dims = [0, 1] : (tensor<1x3xi32>, tensor<2xi64>) -> tensor<?x?xi32>
  %1 = stablehlo.add %0, %0 : tensor<?x?xi32>
  check.expect_eq_const %1, dense<[[2, 4, 6], [2, 4, 6]]> : tensor<2x3xi32>
  %e = stablehlo.constant dense<[[2, 4, 6], [2, 4, 6]]> : tensor<2x3xi32>
  "check.expect_eq"(%1, %e) : (tensor<?x?xi32>, tensor<2x3xi32>) -> ()
  %s = stablehlo.get_dimension_size %1, dim = 0 : (tensor<?x?xi32>) -> tensor<i32>
  check.expect_eq_const %s, dense<2> : tensor<i32>
  func.return
}

// -----

func.func @sizes_from_sums() {
  %a = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %n = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
  %i = stablehlo.convert %n : (tensor<f32>) -> tensor<i32>
  %r = stablehlo.reshape %i : (tensor<i32>) -> tensor<1xi32>
  %0 = stablehlo.dynamic_iota %r, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
  check.expect_eq_const %0, dense<[0, 1, 2, 3, 4, 5]> : tensor<6xi32>
  func.return
}

// -----

func.func @tensor_dialect() {
  %a = arith.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %0 = tensor.extract_slice %a[0, %c1] [2, %c2] [1, 1] : tensor<2x3xi32> to tensor<2x?xi32>
  check.expect_eq_const %0, dense<[[2, 3], [5, 6]]> : tensor<2x2xi32>
  %1 = tensor.generate %c2 {
  ^bb0(%i: index):
    %x = tensor.extract %a[%i, %c1] : tensor<2x3xi32>
    tensor.yield %x : i32
  } : tensor<?xi32>
  check.expect_eq_const %1, dense<[2, 5]> : tensor<2xi32>
  func.return
}

// -----

module @sizes_beside_devices {
  func.func private @sum(%a: tensor<2xi32>) -> tensor<2xi32> {
    %r = "stablehlo.all_reduce"(%a) ({
      ^bb0(%x: tensor<i32>, %y: tensor<i32>):
        %0 = stablehlo.add %x, %y : tensor<i32>
        stablehlo.return %0 : tensor<i32>
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xi32>) -> tensor<2xi32>
    return %r : tensor<2xi32>
  }
  func.func @main() {
    %d = stablehlo.constant dense<[2]> : tensor<1xi64>
    %i = stablehlo.dynamic_iota %d, dim = 0 : (tensor<1xi64>) -> tensor<?xi32>
    %a = stablehlo.reshape %i : (tensor<?xi32>) -> tensor<2xi32>
    %r:2 = "interpreter.run_parallel"(%a, %a) {programs = [[@sum], [@sum]]} : (tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %r#1, dense<[0, 2]> : tensor<2xi32>
    %j = stablehlo.dynamic_iota %d, dim = 0 : (tensor<1xi64>) -> tensor<?xi32>
    %q = stablehlo.add %j, %r#0 : (tensor<?xi32>, tensor<2xi32>) -> tensor<2xi32>
    check.expect_eq_const %q, dense<[0, 3]> : tensor<2xi32>
    func.return
  }
}

// -----

func.func @loops_whose_sizes_change() {
  %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %n = stablehlo.constant dense<2> : tensor<i32>
  %r = call @doubled(%a, %n) : (tensor<2xf32>, tensor<i32>) -> tensor<?xf32>
  check.expect_eq_const %r, dense<[1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0]> : tensor<8xf32>
  %s = call @up_to_twenty(%a) : (tensor<2xf32>) -> tensor<?xf32>
  check.expect_eq_const %s, dense<[1.0, 2.0, 2.0, 4.0, 2.0, 4.0, 4.0, 8.0]> : tensor<8xf32>
  %c3 = arith.constant 3 : index
  %t = call @padded(%a, %c3) : (tensor<2xf32>, index) -> tensor<?xf32>
  check.expect_eq_const %t, dense<[1.0, 2.0, 7.0, 7.0, 7.0]> : tensor<5xf32>
  func.return
}

// So many trips.
func.func private @doubled(%x: tensor<?xf32>, %n: tensor<i32>) -> tensor<?xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<?xf32>
    cond {
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %b = stablehlo.concatenate %a, %a, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %b : tensor<i32>, tensor<?xf32>
    }
  return %r#1 : tensor<?xf32>
}

// As long as the data say.
func.func private @up_to_twenty(%x: tensor<?xf32>) -> tensor<?xf32> {
  %limit = stablehlo.constant dense<20.0> : tensor<f32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.while(%a = %x) : tensor<?xf32>
    cond {
      %s = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<?xf32>, tensor<f32>) -> tensor<f32>
      %c = stablehlo.compare LT, %s, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %t = stablehlo.add %a, %a : tensor<?xf32>
      %b = stablehlo.concatenate %a, %t, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
      stablehlo.return %b : tensor<?xf32>
    }
  return %r : tensor<?xf32>
}

func.func private @padded(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f = arith.constant 7.0 : f32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<?xf32>) {
    %p = tensor.pad %a low[0] high[%i] {
    ^bb0(%k: index):
      tensor.yield %f : f32
    } : tensor<?xf32> to tensor<?xf32>
    scf.yield %p : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}

// -----

// Shapes of rank 0 have no groups.
func.func @one_element() {
  %a = stablehlo.constant dense<7> : tensor<1x1xi32>
  %0 = tensor.collapse_shape %a [] : tensor<1x1xi32> into tensor<i32>
  %1 = tensor.expand_shape %0 [] output_shape [1, 1, 1] : tensor<i32> into tensor<1x1x1xi32>
  check.expect_eq_const %0, dense<7> : tensor<i32>
  check.expect_eq_const %1, dense<7> : tensor<1x1x1xi32>
  func.return
}

// -----

// A branch, and a loop in it, whose sizes data decide, within a loop.
func.func @sizes_in_branches_of_loops() {
  %x = stablehlo.constant dense<[1.0, -1.0, 2.0, 3.0]> : tensor<4xf32>
  %n = stablehlo.constant dense<4> : tensor<i32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %i0 = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %i0, %a = %z) : tensor<i32>, tensor<f32> cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %s = stablehlo.dynamic_slice %x, %i, sizes = [1] : (tensor<4xf32>, tensor<i32>) -> tensor<1xf32>
    %v = stablehlo.reshape %s : (tensor<1xf32>) -> tensor<f32>
    %p = stablehlo.compare GT, %v, %z : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %q = "stablehlo.if"(%p) ({
      %k = stablehlo.convert %v : (tensor<f32>) -> tensor<i32>
      %l = stablehlo.reshape %k : (tensor<i32>) -> tensor<1xi32>
      %b = stablehlo.dynamic_iota %l, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
      %w:2 = stablehlo.while(%j = %i0, %y = %b) : tensor<i32>, tensor<?xf32> cond {
        %c = stablehlo.compare LT, %j, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %d = stablehlo.concatenate %y, %s, dim = 0 : (tensor<?xf32>, tensor<1xf32>) -> tensor<?xf32>
        %m = stablehlo.add %j, %one : tensor<i32>
        stablehlo.return %m, %d : tensor<i32>, tensor<?xf32>
      }
      %t = stablehlo.reduce(%w#1 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<?xf32>, tensor<f32>) -> tensor<f32>
      stablehlo.return %t : tensor<f32>
    }, {
      stablehlo.return %v : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    %o = stablehlo.add %a, %q : tensor<f32>
    %u = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %u, %o : tensor<i32>, tensor<f32>
  }
  check.expect_eq_const %r#1, dense<17.0> : tensor<f32>
  func.return
}

// -----

// Arrays of other sizes, of which data choose one.
func.func @branches_of_other_sizes() {
  %x = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %n = stablehlo.constant dense<2> : tensor<1xi32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
  %b = stablehlo.concatenate %a, %x, dim = 0 : (tensor<?xf32>, tensor<3xf32>) -> tensor<?xf32>
  %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
  %p = stablehlo.compare GT, %s, %z : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %r = "stablehlo.if"(%p) ({
    stablehlo.return %b : tensor<?xf32>
  }, {
    stablehlo.return %a : tensor<?xf32>
  }) : (tensor<i1>) -> tensor<?xf32>
  check.expect_eq_const %r, dense<[0.0, 1.0, 1.0, 2.0, 3.0]> : tensor<5xf32>
  func.return
}
