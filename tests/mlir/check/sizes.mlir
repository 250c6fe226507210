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
