// Operations that the specification has no example of: older ones, and CHLO's.

func.func @einsum() {
  %0 = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %1 = "stablehlo.einsum"(%0, %0) {einsum_config = "ab,bc->ca"} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %1, dense<[[7.0, 15.0], [10.0, 22.0]]> : tensor<2x2xf32>
  %2 = stablehlo.einsum %0, %0, config = "ab,cb->a" : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2xf32>
  check.expect_eq_const %2, dense<[16.0, 36.0]> : tensor<2xf32>
  %3 = "stablehlo.unary_einsum"(%0) {einsum_config = "ab->b"} : (tensor<2x2xf32>) -> tensor<2xf32>
  check.expect_eq_const %3, dense<[4.0, 6.0]> : tensor<2xf32>
  func.return
}

func.func @torch_index_select() {
  %0 = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %1 = stablehlo.constant dense<[2, 0]> : tensor<2xi32>
  %2 = "stablehlo.torch_index_select"(%0, %1) {dim = 1 : i64, batch_dims = 0 : i64} : (tensor<2x3xi32>, tensor<2xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %2, dense<[[3, 1], [6, 4]]> : tensor<2x2xi32>
  %3 = "stablehlo.torch_index_select"(%0, %1) <{dim = 1 : i64, batch_dims = 1 : i64}> : (tensor<2x3xi32>, tensor<2xi32>) -> tensor<2xi32>
  check.expect_eq_const %3, dense<[3, 4]> : tensor<2xi32>
  func.return
}

func.func @constant_like() {
  %0 = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %1 = "chlo.constant_like"(%0) {value = 2.5 : f32} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %1, dense<2.5> : tensor<2x2xf32>
  func.return
}

func.func @broadcast_select() {
  %p = stablehlo.constant dense<true> : tensor<i1>
  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = stablehlo.constant dense<5.0> : tensor<f32>
  %2 = chlo.broadcast_select %p, %0, %1 : (tensor<i1>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  check.expect_eq %2, %0 : tensor<2xf32>
  func.return
}

func.func @asin_kernel() {
  %0 = stablehlo.constant dense<[(0.5, 0.25), (0.0, 2.0)]> : tensor<2xcomplex<f32>>
  %w = chlo._asin_acos_kernel %0 : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>
  %a = chlo.asin %0 : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>
  %re = stablehlo.real %0 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %wr = stablehlo.real %w : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %t = stablehlo.atan2 %re, %wr : tensor<2xf32>
  %ar = stablehlo.real %a : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  check.expect_almost_eq %t, %ar : tensor<2xf32>
  func.return
}

func.func @ragged() {
  %0 = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %1 = stablehlo.constant dense<[[[1.0], [0.0]], [[0.0], [1.0]]]> : tensor<2x2x1xf32>
  %g = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %2 = "chlo.ragged_dot"(%0, %1, %g) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>, precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>]} : (tensor<3x2xf32>, tensor<2x2x1xf32>, tensor<2xi32>) -> tensor<3x1xf32>
  check.expect_eq_const %2, dense<[[1.0], [4.0], [6.0]]> : tensor<3x1xf32>
  func.return
}

func.func @scan() {
  %0 = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %i = stablehlo.constant dense<0> : tensor<i32>
  %1:2 = "chlo.scan"(%0, %i) <{dimension = 0 : i64, is_reverse = false, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%x: tensor<i32>, %c: tensor<i32>):
      %s = stablehlo.add %x, %c : tensor<i32>
      stablehlo.return %s, %s : tensor<i32>, tensor<i32>
  }) : (tensor<4xi32>, tensor<i32>) -> (tensor<4xi32>, tensor<i32>)
  check.expect_eq_const %1#0, dense<[1, 3, 6, 10]> : tensor<4xi32>
  check.expect_eq_const %1#1, dense<10> : tensor<i32>
  func.return
}

// -----

// chlo.scan as it is printed: products so far, from the end; two inputs and one carry; no carry at all.
func.func @scan_forms() {
  %x = stablehlo.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  %one = stablehlo.constant dense<1> : tensor<2xi32>
  %0:2 = chlo.scan(%x) inits(%one) dimension=0 attributes {is_reverse = true} {
  ^bb0(%row: tensor<2xi32>, %so_far: tensor<2xi32>):
    %p = stablehlo.multiply %row, %so_far : tensor<2xi32>
    stablehlo.return %p, %p : tensor<2xi32>, tensor<2xi32>
  } : (tensor<3x2xi32>, tensor<2xi32>) -> (tensor<3x2xi32>, tensor<2xi32>)
  check.expect_eq_const %0#0, dense<[[15, 48], [15, 24], [5, 6]]> : tensor<3x2xi32>
  check.expect_eq_const %0#1, dense<[15, 48]> : tensor<2xi32>
  %y = stablehlo.constant dense<[[7, 1], [8, 1], [9, 1]]> : tensor<3x2xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %z = stablehlo.constant dense<[10, 20, 30]> : tensor<3xi32>
  %1:2 = chlo.scan(%y, %z) inits (%zero) dimension = 0 {
  ^bb0(%column: tensor<2xi32>, %number: tensor<i32>, %count: tensor<i32>):
    %s = stablehlo.reduce(%column init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2xi32>, tensor<i32>) -> tensor<i32>
    %t = stablehlo.add %s, %count : tensor<i32>
    %u = stablehlo.add %t, %number : tensor<i32>
    stablehlo.return %u, %t : tensor<i32>, tensor<i32>
  } : (tensor<3x2xi32>, tensor<3xi32>, tensor<i32>) -> (tensor<3xi32>, tensor<i32>)
  check.expect_eq_const %1#0, dense<[18, 37, 57]> : tensor<3xi32>
  check.expect_eq_const %1#1, dense<27> : tensor<i32>
  %2 = chlo.scan(%z) inits() dimension=0 {
  ^bb0(%e: tensor<i32>):
    %n = stablehlo.negate %e : tensor<i32>
    stablehlo.return %n : tensor<i32>
  } : (tensor<3xi32>) -> tensor<3xi32>
  check.expect_eq_const %2, dense<[-10, -20, -30]> : tensor<3xi32>
  func.return
}

// -----

// chlo.broadcast_select spreads dimensions of size 1 and missing ones; top_k of the smallest; an empty barrier.
func.func @broadcast_select_forms() {
  stablehlo.optimization_barrier()
  %p = stablehlo.constant dense<[[true], [false]]> : tensor<2x1xi1>
  %a = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %b = stablehlo.constant dense<-1> : tensor<1x1xi32>
  %0 = chlo.broadcast_select %p, %a, %b : (tensor<2x1xi1>, tensor<3xi32>, tensor<1x1xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %0, dense<[[1, 2, 3], [-1, -1, -1]]> : tensor<2x3xi32>
  %c = stablehlo.constant dense<true> : tensor<i1>
  %1 = chlo.broadcast_select %c, %0, %a : (tensor<i1>, tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  check.expect_eq %0, %1 : tensor<2x3xi32>
  %v, %i = chlo.top_k(%a, k = 2, is_stable = true) {largest = false} : tensor<3xi32> -> (tensor<2xi32>, tensor<2xi32>)
  check.expect_eq_const %v, dense<[1, 2]> : tensor<2xi32>
  check.expect_eq_const %i, dense<[0, 1]> : tensor<2xi32>
  func.return
}

// -----

// A letter that stands for two or three dimensions of one array: those places where their indices are the same.
func.func @einsum_of_diagonals() {
  %a = stablehlo.constant dense<[[1.0, 2.0], [3.0, -0.0]]> : tensor<2x2xf32>
  %0 = stablehlo.unary_einsum %a, config = "ii->i" : (tensor<2x2xf32>) -> tensor<2xf32>
  check.expect_eq_const %0, dense<[1.0, -0.0]> : tensor<2xf32>
  %1 = stablehlo.unary_einsum %a, config = "ii->" : (tensor<2x2xf32>) -> tensor<f32>
  check.expect_eq_const %1, dense<1.0> : tensor<f32>
  %i = stablehlo.iota dim = 0 : tensor<24xi32>
  %b = stablehlo.reshape %i : (tensor<24xi32>) -> tensor<2x3x2x2xi32>
  %2 = stablehlo.unary_einsum %b, config = "ajaa->ja" : (tensor<2x3x2x2xi32>) -> tensor<3x2xi32>
  check.expect_eq_const %2, dense<[[0, 15], [4, 19], [8, 23]]> : tensor<3x2xi32>
  %c = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %3 = stablehlo.einsum %b, %c, config = "ijkk,kj->ik" : (tensor<2x3x2x2xi32>, tensor<2x3xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %3, dense<[[32, 113], [104, 293]]> : tensor<2x2xi32>
  func.return
}

// -----

// A scan of carries alone takes as many steps as scan_dim_size says; its outputs are stacked.
func.func @scan_of_carries_alone() {
  %i = stablehlo.constant dense<[1, 3]> : tensor<2xi32>
  %0:2 = chlo.scan() inits (%i) dimension=1 attributes {is_reverse = false, scan_dim_size = 3 : i64} {
  ^bb0(%c: tensor<2xi32>):
    %d = stablehlo.add %c, %c : tensor<2xi32>
    stablehlo.return %c, %d : tensor<2xi32>, tensor<2xi32>
  } : (tensor<2xi32>) -> (tensor<2x3xi32>, tensor<2xi32>)
  check.expect_eq_const %0#0, dense<[[1, 2, 4], [3, 6, 12]]> : tensor<2x3xi32>
  check.expect_eq_const %0#1, dense<[8, 24]> : tensor<2xi32>
  func.return
}
