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
