// The forms that operations are written in, beside those of the specification.

func.func @clamp_by_scalars() {
  %a = stablehlo.constant dense<1.0> : tensor<f32>
  %b = stablehlo.constant dense<[0.0,1.5,3.0]> : tensor<3xf32>
  %c = stablehlo.constant dense<2.0> : tensor<f32>
  %r = stablehlo.clamp %a, %b, %c : (tensor<f32>, tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  check.expect_eq_const %r, dense<[1.0,1.5,2.0]> : tensor<3xf32>
  func.return
}

func.func @result_accuracy() {
  %b = stablehlo.constant dense<[0.0,1.0]> : tensor<2xf32>
  %r = stablehlo.exponential %b {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<2xf32>
  %q = "stablehlo.exponential"(%b) {result_accuracy = #stablehlo.result_accuracy<atol = 1.000000e-05, rtol = 0.000000e+00, ulps = 1, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : (tensor<2xf32>) -> tensor<2xf32>
  %s = stablehlo.cosine %b {result_accuracy = #stablehlo.result_accuracy<ulps = 10, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<2xf32>
  check.expect_almost_eq_const %r, dense<[1.0,2.7182818]> : tensor<2xf32>
  check.expect_almost_eq %r, %q : tensor<2xf32>
  func.return
}

func.func @tuples() {
  %b = stablehlo.constant dense<[0.0,1.0]> : tensor<2xf32>
  %i = stablehlo.constant dense<3> : tensor<i64>
  %t = stablehlo.tuple %b, %i : tuple<tensor<2xf32>, tensor<i64>>
  %r = stablehlo.get_tuple_element %t[1] : (tuple<tensor<2xf32>, tensor<i64>>) -> tensor<i64>
  %q = "stablehlo.get_tuple_element"(%t) {index = 0 : i32} : (tuple<tensor<2xf32>, tensor<i64>>) -> tensor<2xf32>
  check.expect_eq_const %r, dense<3> : tensor<i64>
  check.expect_eq %q, %b : tensor<2xf32>
  func.return
}

func.func @barriers() {
  %b = stablehlo.constant dense<[0.0,1.0]> : tensor<2xf32>
  %i = stablehlo.constant dense<3> : tensor<i64>
  %0, %1 = stablehlo.optimization_barrier %b, %i : tensor<2xf32>, tensor<i64>
  %2:2 = "stablehlo.optimization_barrier"(%b, %i) : (tensor<2xf32>, tensor<i64>) -> (tensor<2xf32>, tensor<i64>)
  check.expect_eq %0, %2#0 : tensor<2xf32>
  check.expect_eq_const %1, dense<3> : tensor<i64>
  func.return
}

func.func @while_with_attributes() {
  %c0 = stablehlo.constant dense<0> : tensor<i64>
  %c3 = stablehlo.constant dense<3> : tensor<i64>
  %c1 = stablehlo.constant dense<1> : tensor<i64>
  %r:2 = stablehlo.while(%a = %c0, %b = %c0) : tensor<i64>, tensor<i64> attributes {foo = 1}
    cond {
      %p = stablehlo.compare LT, %a, %c3, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %n = stablehlo.add %a, %c1 : tensor<i64>
      %m = stablehlo.add %b, %n : tensor<i64>
      stablehlo.return %n, %m : tensor<i64>, tensor<i64>
    }
  check.expect_eq_const %r#1, dense<6> : tensor<i64>
  func.return
}

func.func @branches() {
  %i = stablehlo.constant dense<-1> : tensor<i32>
  %x = stablehlo.constant dense<[1,2]> : tensor<2xi64>
  %y = stablehlo.constant dense<[3,4]> : tensor<2xi64>
  %r:2 = "stablehlo.case"(%i) ({
    stablehlo.return %x, %x : tensor<2xi64>, tensor<2xi64>
  }, {
    stablehlo.return %y, %y : tensor<2xi64>, tensor<2xi64>
  }) : (tensor<i32>) -> (tensor<2xi64>, tensor<2xi64>)
  check.expect_eq_const %r#0, dense<[3,4]> : tensor<2xi64>
  %p = stablehlo.constant dense<true> : tensor<i1>
  %q = "stablehlo.if"(%p) ({
    "stablehlo.return"(%x) : (tensor<2xi64>) -> ()
  }, {
    "stablehlo.return"(%y) : (tensor<2xi64>) -> ()
  }) : (tensor<i1>) -> tensor<2xi64>
  check.expect_eq %q, %x : tensor<2xi64>
  func.return
}

func.func @random_bits() {
  %s = stablehlo.constant dense<[1,2]> : tensor<2xui64>
  %o, %v = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2x2xui64>)
  check.expect_eq_const %v, dense<[[9236835810183407956, 16087790271692313299],[18212823393184779219, 2658481902456610144]]> : tensor<2x2xui64>
  func.return
}

func.func @reducer_with_a_capture() {
  %x = stablehlo.constant dense<[1,2,3]> : tensor<3xi64>
  %z = stablehlo.constant dense<0> : tensor<i64>
  %k = stablehlo.add %z, %z : tensor<i64>
  %r = "stablehlo.reduce"(%x, %z) ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %s = stablehlo.add %a, %b : tensor<i64>
      %t = stablehlo.add %s, %k : tensor<i64>
      "stablehlo.return"(%t) : (tensor<i64>) -> ()
  }) {dimensions = array<i64: 0>} : (tensor<3xi64>, tensor<i64>) -> tensor<i64>
  check.expect_eq_const %r, dense<6> : tensor<i64>
  func.return
}

func.func @dynamic_with_constants() {
  %x = stablehlo.constant dense<[[1,2,3],[4,5,6]]> : tensor<2x3xi64>
  %s = stablehlo.constant dense<[3,2]> : tensor<2xi64>
  %r = stablehlo.dynamic_reshape %x, %s : (tensor<2x3xi64>, tensor<2xi64>) -> tensor<3x2xi64>
  check.expect_eq_const %r, dense<[[1,2],[3,4],[5,6]]> : tensor<3x2xi64>
  %d = stablehlo.get_dimension_size %x, dim = 1 : (tensor<2x3xi64>) -> tensor<i32>
  check.expect_eq_const %d, dense<3> : tensor<i32>
  %i = stablehlo.dynamic_iota %s, dim = 0 : (tensor<2xi64>) -> tensor<3x2xi64>
  check.expect_eq_const %i, dense<[[0,0],[1,1],[2,2]]> : tensor<3x2xi64>
  %st = stablehlo.constant dense<[0,1]> : tensor<2xi64>
  %li = stablehlo.constant dense<[2,3]> : tensor<2xi64>
  %sr = stablehlo.constant dense<[1,1]> : tensor<2xi64>
  %q = stablehlo.real_dynamic_slice %x, %st, %li, %sr : (tensor<2x3xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x2xi64>
  check.expect_eq_const %q, dense<[[2,3],[5,6]]> : tensor<2x2xi64>
  %o = stablehlo.constant dense<[2,2]> : tensor<2xi64>
  %v = stablehlo.constant dense<[7,8]> : tensor<2xi64>
  %bb = stablehlo.dynamic_broadcast_in_dim %v, %o, dims = [1] : (tensor<2xi64>, tensor<2xi64>) -> tensor<2x2xi64>
  check.expect_eq_const %bb, dense<[[7,8],[7,8]]> : tensor<2x2xi64>
  func.return
}

func.func @chlo_forms() {
  %x = stablehlo.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %s = stablehlo.constant dense<2.0> : tensor<f32>
  %a = chlo.broadcast_add %x, %s : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  check.expect_eq_const %a, dense<[2.5,2.25]> : tensor<2xf32>
  %c = chlo.broadcast_compare %x, %s {comparison_direction = #chlo<comparison_direction LT>} : (tensor<2xf32>, tensor<f32>) -> tensor<2xi1>
  check.expect_eq_const %c, dense<true> : tensor<2xi1>
  %e = chlo.erf_inv %x : tensor<2xf32> -> tensor<2xf32>
  %n = chlo.next_after %x, %x : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  check.expect_eq %n, %x : tensor<2xf32>
  %p = chlo.polygamma %x, %x : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  %v, %i = chlo.top_k(%x, k = 1) : tensor<2xf32> -> (tensor<1xf32>, tensor<1xi32>)
  check.expect_eq_const %i, dense<[0]> : tensor<1xi32>
  func.return
}

func.func @element_types() {
  %x = stablehlo.constant dense<[0x7F, 0xFF]> : tensor<2xf8E4M3FN>
  check.expect_almost_eq %x, %x : tensor<2xf8E4M3FN>
  %y = stablehlo.constant dense<[0x7FC00000, 0x7F800000, 0xFF800000]> : tensor<3xf32>
  %f = stablehlo.is_finite %y : (tensor<3xf32>) -> tensor<3xi1>
  check.expect_eq_const %f, dense<[false, false, false]> : tensor<3xi1>
  %u = stablehlo.constant dense<[0, 255]> : tensor<2xui8>
  %c = stablehlo.convert %u : (tensor<2xui8>) -> tensor<2xi1>
  check.expect_eq_const %c, dense<[false, true]> : tensor<2xi1>
  %e = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf8E8M0FNU>
  %g = stablehlo.convert %e : (tensor<2xf8E8M0FNU>) -> tensor<2xf32>
  check.expect_eq_const %g, dense<[1.0, 2.0]> : tensor<2xf32>
  %h = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf4E2M1FN>
  %i = stablehlo.convert %h : (tensor<2xf4E2M1FN>) -> tensor<2xf32>
  check.expect_eq_const %i, dense<[1.0, 2.0]> : tensor<2xf32>
  func.return
}

func.func @empty() {
  %x = stablehlo.constant dense<> : tensor<0x2xf32>
  %r = stablehlo.negate %x : tensor<0x2xf32>
  check.expect_eq_const %r, dense<> : tensor<0x2xf32>
  %s = stablehlo.constant dense<1> : tensor<0xi32>
  check.expect_eq %s, %s : tensor<0xi32>
  func.return
}

func.func @convolutions() {
  %lhs = stablehlo.constant dense<1> : tensor<1x4x4x1xi64>
  %rhs = stablehlo.constant dense<2> : tensor<3x3x1x1xi64>
  %r = stablehlo.convolution(%lhs, %rhs) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [4, 4], lhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x1xi64>, tensor<3x3x1x1xi64>) -> tensor<1x2x2x1xi64>
  check.expect_eq_const %r, dense<8> : tensor<1x2x2x1xi64>
  %s = stablehlo.convolution(%lhs, %rhs) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [4, 4], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x4x4x1xi64>, tensor<3x3x1x1xi64>) -> tensor<1x1x1x1xi64>
  check.expect_eq_const %s, dense<8> : tensor<1x1x1x1xi64>
  func.return
}

func.func @dot_with_algorithm() {
  %a = stablehlo.constant dense<[[1.0,2.0],[3.0,4.0]]> : tensor<2x2xf32>
  %r = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_almost_eq_const %r, dense<[[7.0,10.0],[15.0,22.0]]> : tensor<2x2xf32>
  %d = stablehlo.dot %a, %a, precision = [DEFAULT, DEFAULT] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_almost_eq %r, %d : tensor<2x2xf32>
  func.return
}

func.func @reduce_applies() {
  %x = stablehlo.constant dense<[[1,2,3],[4,5,6]]> : tensor<2x3xi64>
  %z = stablehlo.constant dense<0> : tensor<i64>
  %r = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<2x3xi64>, tensor<i64>) -> tensor<2xi64>
  check.expect_eq_const %r, dense<[6, 15]> : tensor<2xi64>
  %f0 = stablehlo.constant dense<1.0> : tensor<2xf32>
  %p = stablehlo.reduce_precision %f0, format = e5m10 : tensor<2xf32>
  func.return
}

func.func @movement() {
  %x = stablehlo.constant dense<[[1,2,3],[4,5,6]]> : tensor<2x3xi64>
  %i = stablehlo.constant dense<0> : tensor<i64>
  %a = stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 2] : (tensor<2x3xi64>, tensor<i64>, tensor<i64>) -> tensor<1x2xi64>
  %b = stablehlo.dynamic_update_slice %x, %a, %i, %i : (tensor<2x3xi64>, tensor<1x2xi64>, tensor<i64>, tensor<i64>) -> tensor<2x3xi64>
  check.expect_eq %b, %x : tensor<2x3xi64>
  %c = stablehlo.slice %x [0:2, 0:3:2] : (tensor<2x3xi64>) -> tensor<2x2xi64>
  check.expect_eq_const %c, dense<[[1,3],[4,6]]> : tensor<2x2xi64>
  %d = stablehlo.reverse %x, dims = [0] : tensor<2x3xi64>
  %e = stablehlo.concatenate %x, %d, dim = 0 : (tensor<2x3xi64>, tensor<2x3xi64>) -> tensor<4x3xi64>
  %p = stablehlo.pad %x, %i, low = [0, 1], high = [0, 0], interior = [0, 0] : (tensor<2x3xi64>, tensor<i64>) -> tensor<2x4xi64>
  %io = stablehlo.iota dim = 0 : tensor<2xi64>
  %ps = stablehlo.popcnt %io : tensor<2xi64>
  %fr = stablehlo.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %ff = stablehlo.fft %fr, type = RFFT, length = [2] : (tensor<1x2xf32>) -> tensor<1x2xcomplex<f32>>
  check.expect_almost_eq_const %ff, dense<[[(3.0, 0.0), (-1.0, 0.0)]]> : tensor<1x2xcomplex<f32>>
  %ch = stablehlo.constant dense<[[4.0, 2.0], [2.0, 5.0]]> : tensor<2x2xf32>
  %cc = stablehlo.cholesky %ch, lower = true : tensor<2x2xf32>
  check.expect_almost_eq_const %cc, dense<[[2.0, 0.0], [1.0, 2.0]]> : tensor<2x2xf32>
  %ts = "stablehlo.triangular_solve"(%cc, %ch) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %bi = stablehlo.bitcast_convert %i : (tensor<i64>) -> tensor<8xi8>
  check.expect_eq_const %bi, dense<0> : tensor<8xi8>
  func.return
}

func.func @sort_and_map() {
  %x = stablehlo.constant dense<[3,1,2]> : tensor<3xi64>
  %r = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %p = stablehlo.compare LT, %a, %b : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
  }) : (tensor<3xi64>) -> tensor<3xi64>
  check.expect_eq_const %r, dense<[1,2,3]> : tensor<3xi64>
  %m = "stablehlo.map"(%x, %x) ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %p = stablehlo.multiply %a, %b : tensor<i64>
      stablehlo.return %p : tensor<i64>
  }) {dimensions = array<i64: 0>} : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  check.expect_eq_const %m, dense<[9,1,4]> : tensor<3xi64>
  func.return
}

func.func @select_forms() {
  %p = stablehlo.constant dense<true> : tensor<i1>
  %x = stablehlo.constant dense<[3,1,2]> : tensor<3xi64>
  %r = stablehlo.select %p, %x, %x : (tensor<i1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %q = stablehlo.select %p, %x, %x : tensor<i1>, tensor<3xi64>
  check.expect_eq %r, %q : tensor<3xi64>
  func.return
}

func.func @tokens_and_ids() {
  %t = stablehlo.create_token : !stablehlo.token
  %u = stablehlo.after_all %t, %t : !stablehlo.token
  %p = stablehlo.partition_id : tensor<ui32>
  %q = "stablehlo.replica_id"() : () -> tensor<ui32>
  check.expect_eq_const %p, dense<0> : tensor<ui32>
  check.expect_eq %p, %q : tensor<ui32>
  func.return
}

// -----

module @comp attributes {mhlo.num_partitions = 1 : i32} {
  func.func private @foo(%a: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.add %a, %a : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %r = stablehlo.composite "my.foo" %x {composite_attributes = {n = 1 : i64}, decomposition = @foo, version = 1 : i32} : (tensor<2xf32>) -> tensor<2xf32>
    check.expect_eq_const %r, dense<[2.0, 4.0]> : tensor<2xf32>
    func.return
  }
}
