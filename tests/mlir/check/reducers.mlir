func.func @reduce_takes_a_scalar() {
  %a = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %z = stablehlo.constant dense<1.0> : tensor<f32>
  %t = stablehlo.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %o = stablehlo.optimization_barrier %t : tensor<2xf32>
  %l = stablehlo.slice %o [0:1] : (tensor<2xf32>) -> tensor<1xf32>
  %s = stablehlo.reshape %l : (tensor<1xf32>) -> tensor<f32>
  %r = stablehlo.reduce(%a init: %z) across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
   reducer(%x: tensor<f32>, %y: tensor<f32>) {
    %m = stablehlo.maximum %y, %s : tensor<f32>
    %n = stablehlo.maximum %x, %m : tensor<f32>
    stablehlo.return %n : tensor<f32>
  }
  check.expect_eq_const %r, dense<[3.0, 6.0]> : tensor<2xf32>
  %w = "stablehlo.reduce_window"(%a, %z) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %m = stablehlo.maximum %x, %y : tensor<f32>
      %n = stablehlo.minimum %m, %s : tensor<f32>
      stablehlo.return %n : tensor<f32>
  }) {window_dimensions = array<i64: 1, 2>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x2xf32>
  check.expect_eq_const %w, dense<[[2.0, 2.0], [2.0, 2.0]]> : tensor<2x2xf32>
  %m = "stablehlo.map"(%a) ({
    ^bb0(%x: tensor<f32>):
      %n = stablehlo.minimum %x, %s : tensor<f32>
      stablehlo.return %n : tensor<f32>
  }) {dimensions = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  check.expect_eq_const %m, dense<[[1.0, 2.0, 2.0], [2.0, 2.0, 2.0]]> : tensor<2x3xf32>
  %q = "stablehlo.sort"(%a) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %0 = stablehlo.subtract %x, %s : tensor<f32>
      %1 = stablehlo.subtract %y, %s : tensor<f32>
      %2 = stablehlo.abs %0 : tensor<f32>
      %3 = stablehlo.abs %1 : tensor<f32>
      %4 = stablehlo.compare GT, %2, %3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  check.expect_eq_const %q, dense<[[1.0, 3.0, 2.0], [6.0, 5.0, 4.0]]> : tensor<2x3xf32>
  %i = stablehlo.constant dense<[[1], [1], [7]]> : tensor<3x1xi32>
  %u = stablehlo.constant dense<[10.0, 20.0, 30.0]> : tensor<3xf32>
  %c = "stablehlo.scatter"(%t, %i, %u) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %0 = stablehlo.multiply %y, %s : tensor<f32>
      %1 = stablehlo.add %x, %0 : tensor<f32>
      stablehlo.return %1 : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<2xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<2xf32>
  check.expect_eq_const %c, dense<[2.0, 63.0]> : tensor<2xf32>
  func.return
}

// -----

func.func @reducers_compute_in_wider_types() {
  %a = stablehlo.constant dense<[[100, 100, 100]]> : tensor<1x3xi8>
  %z = stablehlo.constant dense<0> : tensor<i8>
  %r = "stablehlo.reduce"(%a, %z) ({
    ^bb0(%x: tensor<i32>, %y: tensor<i32>):
      %0 = stablehlo.add %x, %y : tensor<i32>
      stablehlo.return %0 : tensor<i32>
  }) {dimensions = array<i64: 1>} : (tensor<1x3xi8>, tensor<i8>) -> tensor<1xi32>
  check.expect_eq_const %r, dense<300> : tensor<1xi32>
  %i = stablehlo.constant dense<[[1], [1]]> : tensor<2x1xi32>
  %t = stablehlo.constant dense<[1, 100]> : tensor<2xi8>
  %c = "stablehlo.scatter"(%t, %i, %t) ({
    ^bb0(%x: tensor<i32>, %y: tensor<i32>):
      %0 = stablehlo.add %x, %y : tensor<i32>
      stablehlo.return %0 : tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<2xi8>, tensor<2x1xi32>, tensor<2xi8>) -> tensor<2xi32>
  check.expect_eq_const %c, dense<[1, 201]> : tensor<2xi32>
  func.return
}

// -----

module @each_device_promotes {
  func.func private @sum(%a: tensor<2xi8>) -> tensor<2xi32> {
    %r = "stablehlo.all_reduce"(%a) ({
      ^bb0(%x: tensor<i32>, %y: tensor<i32>):
        %0 = stablehlo.add %x, %y : tensor<i32>
        stablehlo.return %0 : tensor<i32>
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xi8>) -> tensor<2xi32>
    return %r : tensor<2xi32>
  }
  func.func @main() {
    %a = stablehlo.constant dense<[100, 1]> : tensor<2xi8>
    %r:2 = "interpreter.run_parallel"(%a, %a) {programs = [[@sum], [@sum]]} : (tensor<2xi8>, tensor<2xi8>) -> (tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %r#1, dense<[200, 2]> : tensor<2xi32>
    func.return
  }
}

// -----

// Regions that look up what an element says: in arrays from around them, and in arrays that they make. The results are
// those of StableHLO's interpreter.
func.func @tables_in_regions() {
  %x = stablehlo.constant dense<[3, 1, 0, 2]> : tensor<4xi32>
  %y = stablehlo.add %x, %x : tensor<4xi32>
  %t = stablehlo.multiply %y, %y : tensor<4xi32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %map = "stablehlo.map"(%x) ({
  ^bb0(%a: tensor<i32>):
    %s = stablehlo.dynamic_slice %t, %a, sizes = [1] : (tensor<4xi32>, tensor<i32>) -> tensor<1xi32>
    %c = stablehlo.reshape %s : (tensor<1xi32>) -> tensor<i32>
    stablehlo.return %c : tensor<i32>
  }) {dimensions = array<i64: 0>} : (tensor<4xi32>) -> tensor<4xi32>
  check.expect_eq_const %map, dense<[16, 4, 36, 0]> : tensor<4xi32>
  %sort = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.dynamic_slice %t, %a, sizes = [1] : (tensor<4xi32>, tensor<i32>) -> tensor<1xi32>
    %s2 = stablehlo.dynamic_slice %t, %b, sizes = [1] : (tensor<4xi32>, tensor<i32>) -> tensor<1xi32>
    %c = stablehlo.compare GT, %s, %s2 : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
    %d = stablehlo.reshape %c : (tensor<1xi1>) -> tensor<i1>
    stablehlo.return %d : tensor<i1>
  }) {dimension = 0 : i64} : (tensor<4xi32>) -> tensor<4xi32>
  check.expect_eq_const %sort, dense<[0, 3, 1, 2]> : tensor<4xi32>
  %window = "stablehlo.reduce_window"(%x, %z) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %k = stablehlo.reshape %b : (tensor<i32>) -> tensor<1xi32>
    %s = "stablehlo.gather"(%t, %k) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 0>, slice_sizes = array<i64: 1>} : (tensor<4xi32>, tensor<1xi32>) -> tensor<i32>
    %e = stablehlo.add %a, %s : tensor<i32>
    stablehlo.return %e : tensor<i32>
  }) {window_dimensions = array<i64: 1>} : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  check.expect_eq_const %window, dense<[16, 4, 36, 0]> : tensor<4xi32>
  %i = stablehlo.constant dense<[[4], [1]]> : tensor<2x1xi32>
  %u = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
  %o = stablehlo.constant dense<1> : tensor<5xi32>
  %scatter = "stablehlo.scatter"(%o, %i, %u) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.dynamic_slice %t, %b, sizes = [1] : (tensor<4xi32>, tensor<i32>) -> tensor<1xi32>
    %r = stablehlo.reshape %s : (tensor<1xi32>) -> tensor<i32>
    %e = stablehlo.add %a, %r : tensor<i32>
    stablehlo.return %e : tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5xi32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<5xi32>
  check.expect_eq_const %scatter, dense<[1, 17, 1, 1, 1]> : tensor<5xi32>
  %made = "stablehlo.map"(%x) ({
  ^bb0(%a: tensor<i32>):
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %ones = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
    %row = stablehlo.constant dense<[[10, 20]]> : tensor<1x2xi32>
    %p = stablehlo.dynamic_update_slice %ones, %row, %zero, %a : (tensor<2x3xi32>, tensor<1x2xi32>, tensor<i32>, tensor<i32>) -> tensor<2x3xi32>
    %q = stablehlo.transpose %p, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>
    %v = stablehlo.slice %q [0:2, 0:2] : (tensor<3x2xi32>) -> tensor<2x2xi32>
    %w = stablehlo.pad %v, %a, low = [1, 0], high = [0, -1], interior = [0, 1] : (tensor<2x2xi32>, tensor<i32>) -> tensor<3x2xi32>
    %b = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<i32>) -> tensor<3x2xi32>
    %c = stablehlo.concatenate %w, %b, dim = 0 : (tensor<3x2xi32>, tensor<3x2xi32>) -> tensor<6x2xi32>
    %d = stablehlo.reverse %c, dims = [0] : tensor<6x2xi32>
    %n = stablehlo.iota dim = 0 : tensor<6x2xi32>
    %m = stablehlo.multiply %d, %n : tensor<6x2xi32>
    %r = stablehlo.reduce(%m init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<6x2xi32>, tensor<i32>) -> tensor<i32>
    stablehlo.return %r : tensor<i32>
  }) {dimensions = array<i64: 0>} : (tensor<4xi32>) -> tensor<4xi32>
  check.expect_eq_const %made, dense<[103, 57, 100, 80]> : tensor<4xi32>
  func.return
}

// -----

// Branches in regions on scalars, one of which takes a table.
func.func private @same(%a: tensor<i32>) -> tensor<i32> {
  return %a : tensor<i32>
}

func.func @branches_in_regions() {
  %x = stablehlo.constant dense<[3, 1, 0, 2]> : tensor<4xi32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %max = "stablehlo.reduce"(%x, %z) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.compare GT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %d = "stablehlo.if"(%c) ({
      stablehlo.return %a : tensor<i32>
    }, {
      %e = func.call @same(%b) : (tensor<i32>) -> tensor<i32>
      stablehlo.return %e : tensor<i32>
    }) : (tensor<i1>) -> tensor<i32>
    stablehlo.return %d : tensor<i32>
  }) {dimensions = array<i64: 0>} : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %max, dense<3> : tensor<i32>
  %y = stablehlo.constant dense<[0, 1, 2, 3, 4, -1, -9]> : tensor<7xi32>
  %map = "stablehlo.map"(%y) ({
  ^bb0(%a: tensor<i32>):
    %t = stablehlo.constant dense<[7, 8]> : tensor<2xi32>
    %r = "stablehlo.case"(%a) ({
      %s = stablehlo.add %a, %a : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }, {
      %s = stablehlo.dynamic_slice %t, %a, sizes = [1] : (tensor<2xi32>, tensor<i32>) -> tensor<1xi32>
      %u = stablehlo.reshape %s : (tensor<1xi32>) -> tensor<i32>
      stablehlo.return %u : tensor<i32>
    }, {
      %s = stablehlo.negate %a : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    stablehlo.return %r : tensor<i32>
  }) {dimensions = array<i64: 0>} : (tensor<7xi32>) -> tensor<7xi32>
  check.expect_eq_const %map, dense<[0, 8, -2, -3, -4, 1, 9]> : tensor<7xi32>
  func.return
}
