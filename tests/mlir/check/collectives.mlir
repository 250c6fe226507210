// Each collective under each strategy that the specification gives it for its groups, on two replicas of two partitions.
// Device 2 * replica + partition holds 10 * (number + 1) + index.

module @all_gather_cross_replica {
  func.func @program(%x: tensor<2xi32>) -> tensor<4xi32> {
    %y = "stablehlo.all_gather"(%x) {replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>, all_gather_dim = 0 : i64} : (tensor<2xi32>) -> tensor<4xi32>
    return %y : tensor<4xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[20, 21]> : tensor<2xi32>
    %2 = stablehlo.constant dense<[30, 31]> : tensor<2xi32>
    %3 = stablehlo.constant dense<[40, 41]> : tensor<2xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>)
    check.expect_eq_const %r#0, dense<[30, 31, 10, 11]> : tensor<4xi32>
    check.expect_eq_const %r#1, dense<[40, 41, 20, 21]> : tensor<4xi32>
    check.expect_eq_const %r#2, dense<[30, 31, 10, 11]> : tensor<4xi32>
    check.expect_eq_const %r#3, dense<[40, 41, 20, 21]> : tensor<4xi32>
    func.return
  }
}

// -----

module @all_reduce_cross_replica {
  func.func @program(%x: tensor<2xi32>) -> tensor<2xi32> {
    %y = "stablehlo.all_reduce"(%x) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %s = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %s : tensor<i32>
    }) {replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>} : (tensor<2xi32>) -> tensor<2xi32>
    return %y : tensor<2xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[20, 21]> : tensor<2xi32>
    %2 = stablehlo.constant dense<[30, 31]> : tensor<2xi32>
    %3 = stablehlo.constant dense<[40, 41]> : tensor<2xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %r#0, dense<[40, 42]> : tensor<2xi32>
    check.expect_eq_const %r#1, dense<[60, 62]> : tensor<2xi32>
    check.expect_eq_const %r#2, dense<[40, 42]> : tensor<2xi32>
    check.expect_eq_const %r#3, dense<[60, 62]> : tensor<2xi32>
    func.return
  }
}

// -----

module @reduce_scatter_cross_replica {
  func.func @program(%x: tensor<4xi32>) -> tensor<2xi32> {
    %y = "stablehlo.reduce_scatter"(%x) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %s = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %s : tensor<i32>
    }) {replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>, scatter_dimension = 0 : i64} : (tensor<4xi32>) -> tensor<2xi32>
    return %y : tensor<2xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11, 12, 13]> : tensor<4xi32>
    %1 = stablehlo.constant dense<[20, 21, 22, 23]> : tensor<4xi32>
    %2 = stablehlo.constant dense<[30, 31, 32, 33]> : tensor<4xi32>
    %3 = stablehlo.constant dense<[40, 41, 42, 43]> : tensor<4xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %r#0, dense<[44, 46]> : tensor<2xi32>
    check.expect_eq_const %r#1, dense<[64, 66]> : tensor<2xi32>
    check.expect_eq_const %r#2, dense<[40, 42]> : tensor<2xi32>
    check.expect_eq_const %r#3, dense<[60, 62]> : tensor<2xi32>
    func.return
  }
}

// -----

module @all_gather_cross_replica_below_zero {
  func.func @program(%x: tensor<2xi32>) -> tensor<4xi32> {
    %y = "stablehlo.all_gather"(%x) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = -1, type = 1>, all_gather_dim = 0 : i64} : (tensor<2xi32>) -> tensor<4xi32>
    return %y : tensor<4xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[20, 21]> : tensor<2xi32>
    %2 = stablehlo.constant dense<[30, 31]> : tensor<2xi32>
    %3 = stablehlo.constant dense<[40, 41]> : tensor<2xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>)
    check.expect_eq_const %r#0, dense<[10, 11, 30, 31]> : tensor<4xi32>
    check.expect_eq_const %r#1, dense<[20, 21, 40, 41]> : tensor<4xi32>
    check.expect_eq_const %r#2, dense<[10, 11, 30, 31]> : tensor<4xi32>
    check.expect_eq_const %r#3, dense<[20, 21, 40, 41]> : tensor<4xi32>
    func.return
  }
}

// -----

module @all_reduce_cross_replica_below_zero {
  func.func @program(%x: tensor<2xi32>) -> tensor<2xi32> {
    %y = "stablehlo.all_reduce"(%x) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %s = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %s : tensor<i32>
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = -1, type = 1>} : (tensor<2xi32>) -> tensor<2xi32>
    return %y : tensor<2xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[20, 21]> : tensor<2xi32>
    %2 = stablehlo.constant dense<[30, 31]> : tensor<2xi32>
    %3 = stablehlo.constant dense<[40, 41]> : tensor<2xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %r#0, dense<[40, 42]> : tensor<2xi32>
    check.expect_eq_const %r#1, dense<[60, 62]> : tensor<2xi32>
    check.expect_eq_const %r#2, dense<[40, 42]> : tensor<2xi32>
    check.expect_eq_const %r#3, dense<[60, 62]> : tensor<2xi32>
    func.return
  }
}

// -----

module @reduce_scatter_cross_replica_below_zero {
  func.func @program(%x: tensor<4xi32>) -> tensor<2xi32> {
    %y = "stablehlo.reduce_scatter"(%x) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %s = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %s : tensor<i32>
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = -1, type = 1>, scatter_dimension = 0 : i64} : (tensor<4xi32>) -> tensor<2xi32>
    return %y : tensor<2xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11, 12, 13]> : tensor<4xi32>
    %1 = stablehlo.constant dense<[20, 21, 22, 23]> : tensor<4xi32>
    %2 = stablehlo.constant dense<[30, 31, 32, 33]> : tensor<4xi32>
    %3 = stablehlo.constant dense<[40, 41, 42, 43]> : tensor<4xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %r#0, dense<[40, 42]> : tensor<2xi32>
    check.expect_eq_const %r#1, dense<[60, 62]> : tensor<2xi32>
    check.expect_eq_const %r#2, dense<[44, 46]> : tensor<2xi32>
    check.expect_eq_const %r#3, dense<[64, 66]> : tensor<2xi32>
    func.return
  }
}

// -----

module @all_gather_cross_replica_apart {
  func.func @program(%x: tensor<2xi32>) -> tensor<2xi32> {
    %y = "stablehlo.all_gather"(%x) {replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>, all_gather_dim = 0 : i64} : (tensor<2xi32>) -> tensor<2xi32>
    return %y : tensor<2xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[20, 21]> : tensor<2xi32>
    %2 = stablehlo.constant dense<[30, 31]> : tensor<2xi32>
    %3 = stablehlo.constant dense<[40, 41]> : tensor<2xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %r#0, dense<[10, 11]> : tensor<2xi32>
    check.expect_eq_const %r#1, dense<[20, 21]> : tensor<2xi32>
    check.expect_eq_const %r#2, dense<[30, 31]> : tensor<2xi32>
    check.expect_eq_const %r#3, dense<[40, 41]> : tensor<2xi32>
    func.return
  }
}

// -----

module @all_reduce_cross_replica_apart {
  func.func @program(%x: tensor<2xi32>) -> tensor<2xi32> {
    %y = "stablehlo.all_reduce"(%x) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %s = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %s : tensor<i32>
    }) {replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>} : (tensor<2xi32>) -> tensor<2xi32>
    return %y : tensor<2xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[20, 21]> : tensor<2xi32>
    %2 = stablehlo.constant dense<[30, 31]> : tensor<2xi32>
    %3 = stablehlo.constant dense<[40, 41]> : tensor<2xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %r#0, dense<[10, 11]> : tensor<2xi32>
    check.expect_eq_const %r#1, dense<[20, 21]> : tensor<2xi32>
    check.expect_eq_const %r#2, dense<[30, 31]> : tensor<2xi32>
    check.expect_eq_const %r#3, dense<[40, 41]> : tensor<2xi32>
    func.return
  }
}

// -----

module @reduce_scatter_cross_replica_apart {
  func.func @program(%x: tensor<4xi32>) -> tensor<4xi32> {
    %y = "stablehlo.reduce_scatter"(%x) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %s = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %s : tensor<i32>
    }) {replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>, scatter_dimension = 0 : i64} : (tensor<4xi32>) -> tensor<4xi32>
    return %y : tensor<4xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11, 12, 13]> : tensor<4xi32>
    %1 = stablehlo.constant dense<[20, 21, 22, 23]> : tensor<4xi32>
    %2 = stablehlo.constant dense<[30, 31, 32, 33]> : tensor<4xi32>
    %3 = stablehlo.constant dense<[40, 41, 42, 43]> : tensor<4xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>)
    check.expect_eq_const %r#0, dense<[10, 11, 12, 13]> : tensor<4xi32>
    check.expect_eq_const %r#1, dense<[20, 21, 22, 23]> : tensor<4xi32>
    check.expect_eq_const %r#2, dense<[30, 31, 32, 33]> : tensor<4xi32>
    check.expect_eq_const %r#3, dense<[40, 41, 42, 43]> : tensor<4xi32>
    func.return
  }
}

// -----

module @all_gather_both {
  func.func @program(%x: tensor<2xi32>) -> tensor<8xi32> {
    %y = "stablehlo.all_gather"(%x) {replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, all_gather_dim = 0 : i64} : (tensor<2xi32>) -> tensor<8xi32>
    return %y : tensor<8xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[20, 21]> : tensor<2xi32>
    %2 = stablehlo.constant dense<[30, 31]> : tensor<2xi32>
    %3 = stablehlo.constant dense<[40, 41]> : tensor<2xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<8xi32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi32>)
    check.expect_eq_const %r#0, dense<[30, 31, 10, 11, 40, 41, 20, 21]> : tensor<8xi32>
    check.expect_eq_const %r#1, dense<[30, 31, 10, 11, 40, 41, 20, 21]> : tensor<8xi32>
    check.expect_eq_const %r#2, dense<[30, 31, 10, 11, 40, 41, 20, 21]> : tensor<8xi32>
    check.expect_eq_const %r#3, dense<[30, 31, 10, 11, 40, 41, 20, 21]> : tensor<8xi32>
    func.return
  }
}

// -----

module @all_reduce_both {
  func.func @program(%x: tensor<2xi32>) -> tensor<2xi32> {
    %y = "stablehlo.all_reduce"(%x) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %s = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %s : tensor<i32>
    }) {replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>} : (tensor<2xi32>) -> tensor<2xi32>
    return %y : tensor<2xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[20, 21]> : tensor<2xi32>
    %2 = stablehlo.constant dense<[30, 31]> : tensor<2xi32>
    %3 = stablehlo.constant dense<[40, 41]> : tensor<2xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %r#0, dense<[100, 104]> : tensor<2xi32>
    check.expect_eq_const %r#1, dense<[100, 104]> : tensor<2xi32>
    check.expect_eq_const %r#2, dense<[100, 104]> : tensor<2xi32>
    check.expect_eq_const %r#3, dense<[100, 104]> : tensor<2xi32>
    func.return
  }
}

// -----

module @reduce_scatter_both {
  func.func @program(%x: tensor<4xi32>) -> tensor<1xi32> {
    %y = "stablehlo.reduce_scatter"(%x) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %s = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %s : tensor<i32>
    }) {replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, scatter_dimension = 0 : i64} : (tensor<4xi32>) -> tensor<1xi32>
    return %y : tensor<1xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11, 12, 13]> : tensor<4xi32>
    %1 = stablehlo.constant dense<[20, 21, 22, 23]> : tensor<4xi32>
    %2 = stablehlo.constant dense<[30, 31, 32, 33]> : tensor<4xi32>
    %3 = stablehlo.constant dense<[40, 41, 42, 43]> : tensor<4xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>)
    check.expect_eq_const %r#0, dense<[104]> : tensor<1xi32>
    check.expect_eq_const %r#1, dense<[112]> : tensor<1xi32>
    check.expect_eq_const %r#2, dense<[100]> : tensor<1xi32>
    check.expect_eq_const %r#3, dense<[108]> : tensor<1xi32>
    func.return
  }
}

// -----

module @all_gather_both_apart {
  func.func @program(%x: tensor<2xi32>) -> tensor<4xi32> {
    %y = "stablehlo.all_gather"(%x) {replica_groups = dense<[[1], [0]]> : tensor<2x1xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, all_gather_dim = 0 : i64} : (tensor<2xi32>) -> tensor<4xi32>
    return %y : tensor<4xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[20, 21]> : tensor<2xi32>
    %2 = stablehlo.constant dense<[30, 31]> : tensor<2xi32>
    %3 = stablehlo.constant dense<[40, 41]> : tensor<2xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>)
    check.expect_eq_const %r#0, dense<[10, 11, 20, 21]> : tensor<4xi32>
    check.expect_eq_const %r#1, dense<[10, 11, 20, 21]> : tensor<4xi32>
    check.expect_eq_const %r#2, dense<[30, 31, 40, 41]> : tensor<4xi32>
    check.expect_eq_const %r#3, dense<[30, 31, 40, 41]> : tensor<4xi32>
    func.return
  }
}

// -----

module @all_reduce_both_apart {
  func.func @program(%x: tensor<2xi32>) -> tensor<2xi32> {
    %y = "stablehlo.all_reduce"(%x) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %s = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %s : tensor<i32>
    }) {replica_groups = dense<[[1], [0]]> : tensor<2x1xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>} : (tensor<2xi32>) -> tensor<2xi32>
    return %y : tensor<2xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[20, 21]> : tensor<2xi32>
    %2 = stablehlo.constant dense<[30, 31]> : tensor<2xi32>
    %3 = stablehlo.constant dense<[40, 41]> : tensor<2xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %r#0, dense<[30, 32]> : tensor<2xi32>
    check.expect_eq_const %r#1, dense<[30, 32]> : tensor<2xi32>
    check.expect_eq_const %r#2, dense<[70, 72]> : tensor<2xi32>
    check.expect_eq_const %r#3, dense<[70, 72]> : tensor<2xi32>
    func.return
  }
}

// -----

module @reduce_scatter_both_apart {
  func.func @program(%x: tensor<4xi32>) -> tensor<2xi32> {
    %y = "stablehlo.reduce_scatter"(%x) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %s = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %s : tensor<i32>
    }) {replica_groups = dense<[[1], [0]]> : tensor<2x1xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, scatter_dimension = 0 : i64} : (tensor<4xi32>) -> tensor<2xi32>
    return %y : tensor<2xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11, 12, 13]> : tensor<4xi32>
    %1 = stablehlo.constant dense<[20, 21, 22, 23]> : tensor<4xi32>
    %2 = stablehlo.constant dense<[30, 31, 32, 33]> : tensor<4xi32>
    %3 = stablehlo.constant dense<[40, 41, 42, 43]> : tensor<4xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %r#0, dense<[30, 32]> : tensor<2xi32>
    check.expect_eq_const %r#1, dense<[34, 36]> : tensor<2xi32>
    check.expect_eq_const %r#2, dense<[70, 72]> : tensor<2xi32>
    check.expect_eq_const %r#3, dense<[74, 76]> : tensor<2xi32>
    func.return
  }
}

// -----

module @all_gather_flattened {
  func.func @program(%x: tensor<2xi32>) -> tensor<8xi32> {
    %y = "stablehlo.all_gather"(%x) {replica_groups = dense<[[3, 1, 0, 2]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids, all_gather_dim = 0 : i64} : (tensor<2xi32>) -> tensor<8xi32>
    return %y : tensor<8xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[20, 21]> : tensor<2xi32>
    %2 = stablehlo.constant dense<[30, 31]> : tensor<2xi32>
    %3 = stablehlo.constant dense<[40, 41]> : tensor<2xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<8xi32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi32>)
    check.expect_eq_const %r#0, dense<[40, 41, 20, 21, 10, 11, 30, 31]> : tensor<8xi32>
    check.expect_eq_const %r#1, dense<[40, 41, 20, 21, 10, 11, 30, 31]> : tensor<8xi32>
    check.expect_eq_const %r#2, dense<[40, 41, 20, 21, 10, 11, 30, 31]> : tensor<8xi32>
    check.expect_eq_const %r#3, dense<[40, 41, 20, 21, 10, 11, 30, 31]> : tensor<8xi32>
    func.return
  }
}

// -----

module @all_reduce_flattened {
  func.func @program(%x: tensor<2xi32>) -> tensor<2xi32> {
    %y = "stablehlo.all_reduce"(%x) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %s = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %s : tensor<i32>
    }) {replica_groups = dense<[[3, 1, 0, 2]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids} : (tensor<2xi32>) -> tensor<2xi32>
    return %y : tensor<2xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[20, 21]> : tensor<2xi32>
    %2 = stablehlo.constant dense<[30, 31]> : tensor<2xi32>
    %3 = stablehlo.constant dense<[40, 41]> : tensor<2xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %r#0, dense<[100, 104]> : tensor<2xi32>
    check.expect_eq_const %r#1, dense<[100, 104]> : tensor<2xi32>
    check.expect_eq_const %r#2, dense<[100, 104]> : tensor<2xi32>
    check.expect_eq_const %r#3, dense<[100, 104]> : tensor<2xi32>
    func.return
  }
}

// -----

module @reduce_scatter_flattened {
  func.func @program(%x: tensor<4xi32>) -> tensor<1xi32> {
    %y = "stablehlo.reduce_scatter"(%x) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %s = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %s : tensor<i32>
    }) {replica_groups = dense<[[3, 1, 0, 2]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids, scatter_dimension = 0 : i64} : (tensor<4xi32>) -> tensor<1xi32>
    return %y : tensor<1xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11, 12, 13]> : tensor<4xi32>
    %1 = stablehlo.constant dense<[20, 21, 22, 23]> : tensor<4xi32>
    %2 = stablehlo.constant dense<[30, 31, 32, 33]> : tensor<4xi32>
    %3 = stablehlo.constant dense<[40, 41, 42, 43]> : tensor<4xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>)
    check.expect_eq_const %r#0, dense<[108]> : tensor<1xi32>
    check.expect_eq_const %r#1, dense<[104]> : tensor<1xi32>
    check.expect_eq_const %r#2, dense<[112]> : tensor<1xi32>
    check.expect_eq_const %r#3, dense<[100]> : tensor<1xi32>
    func.return
  }
}

// -----

module @all_gather_flattened_pairs {
  func.func @program(%x: tensor<2xi32>) -> tensor<4xi32> {
    %y = "stablehlo.all_gather"(%x) {replica_groups = dense<[[3, 0], [1, 2]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids, all_gather_dim = 0 : i64} : (tensor<2xi32>) -> tensor<4xi32>
    return %y : tensor<4xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[20, 21]> : tensor<2xi32>
    %2 = stablehlo.constant dense<[30, 31]> : tensor<2xi32>
    %3 = stablehlo.constant dense<[40, 41]> : tensor<2xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>)
    check.expect_eq_const %r#0, dense<[40, 41, 10, 11]> : tensor<4xi32>
    check.expect_eq_const %r#1, dense<[20, 21, 30, 31]> : tensor<4xi32>
    check.expect_eq_const %r#2, dense<[20, 21, 30, 31]> : tensor<4xi32>
    check.expect_eq_const %r#3, dense<[40, 41, 10, 11]> : tensor<4xi32>
    func.return
  }
}

// -----

module @all_reduce_flattened_pairs {
  func.func @program(%x: tensor<2xi32>) -> tensor<2xi32> {
    %y = "stablehlo.all_reduce"(%x) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %s = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %s : tensor<i32>
    }) {replica_groups = dense<[[3, 0], [1, 2]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids} : (tensor<2xi32>) -> tensor<2xi32>
    return %y : tensor<2xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[20, 21]> : tensor<2xi32>
    %2 = stablehlo.constant dense<[30, 31]> : tensor<2xi32>
    %3 = stablehlo.constant dense<[40, 41]> : tensor<2xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %r#0, dense<[50, 52]> : tensor<2xi32>
    check.expect_eq_const %r#1, dense<[50, 52]> : tensor<2xi32>
    check.expect_eq_const %r#2, dense<[50, 52]> : tensor<2xi32>
    check.expect_eq_const %r#3, dense<[50, 52]> : tensor<2xi32>
    func.return
  }
}

// -----

module @reduce_scatter_flattened_pairs {
  func.func @program(%x: tensor<4xi32>) -> tensor<2xi32> {
    %y = "stablehlo.reduce_scatter"(%x) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %s = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %s : tensor<i32>
    }) {replica_groups = dense<[[3, 0], [1, 2]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids, scatter_dimension = 0 : i64} : (tensor<4xi32>) -> tensor<2xi32>
    return %y : tensor<2xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11, 12, 13]> : tensor<4xi32>
    %1 = stablehlo.constant dense<[20, 21, 22, 23]> : tensor<4xi32>
    %2 = stablehlo.constant dense<[30, 31, 32, 33]> : tensor<4xi32>
    %3 = stablehlo.constant dense<[40, 41, 42, 43]> : tensor<4xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %r#0, dense<[54, 56]> : tensor<2xi32>
    check.expect_eq_const %r#1, dense<[50, 52]> : tensor<2xi32>
    check.expect_eq_const %r#2, dense<[54, 56]> : tensor<2xi32>
    check.expect_eq_const %r#3, dense<[50, 52]> : tensor<2xi32>
    func.return
  }
}

// -----

module @all_to_all_cross_replica {
  func.func @program(%x: tensor<4xi32>) -> tensor<4xi32> {
    %y = "stablehlo.all_to_all"(%x) {replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>, split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64} : (tensor<4xi32>) -> tensor<4xi32>
    return %y : tensor<4xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11, 12, 13]> : tensor<4xi32>
    %1 = stablehlo.constant dense<[20, 21, 22, 23]> : tensor<4xi32>
    %2 = stablehlo.constant dense<[30, 31, 32, 33]> : tensor<4xi32>
    %3 = stablehlo.constant dense<[40, 41, 42, 43]> : tensor<4xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>)
    check.expect_eq_const %r#0, dense<[32, 33, 12, 13]> : tensor<4xi32>
    check.expect_eq_const %r#1, dense<[42, 43, 22, 23]> : tensor<4xi32>
    check.expect_eq_const %r#2, dense<[30, 31, 10, 11]> : tensor<4xi32>
    check.expect_eq_const %r#3, dense<[40, 41, 20, 21]> : tensor<4xi32>
    func.return
  }
}

// -----

module @collective_broadcast_cross_replica {
  func.func @program(%x: tensor<2xi32>) -> tensor<2xi32> {
    %y = "stablehlo.collective_broadcast"(%x) {replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>} : (tensor<2xi32>) -> tensor<2xi32>
    return %y : tensor<2xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[20, 21]> : tensor<2xi32>
    %2 = stablehlo.constant dense<[30, 31]> : tensor<2xi32>
    %3 = stablehlo.constant dense<[40, 41]> : tensor<2xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %r#0, dense<[30, 31]> : tensor<2xi32>
    check.expect_eq_const %r#1, dense<[40, 41]> : tensor<2xi32>
    check.expect_eq_const %r#2, dense<[30, 31]> : tensor<2xi32>
    check.expect_eq_const %r#3, dense<[40, 41]> : tensor<2xi32>
    func.return
  }
}

// -----

module @collective_reduce_cross_replica {
  func.func @program(%x: tensor<2xi32>) -> tensor<2xi32> {
    %y = "stablehlo.collective_reduce"(%x) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %s = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %s : tensor<i32>
    }) {replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>} : (tensor<2xi32>) -> tensor<2xi32>
    return %y : tensor<2xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[20, 21]> : tensor<2xi32>
    %2 = stablehlo.constant dense<[30, 31]> : tensor<2xi32>
    %3 = stablehlo.constant dense<[40, 41]> : tensor<2xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %r#0, dense<[0, 0]> : tensor<2xi32>
    check.expect_eq_const %r#1, dense<[0, 0]> : tensor<2xi32>
    check.expect_eq_const %r#2, dense<[40, 42]> : tensor<2xi32>
    check.expect_eq_const %r#3, dense<[60, 62]> : tensor<2xi32>
    func.return
  }
}

// -----

module @collective_permute_cross_replica {
  func.func @program(%x: tensor<2xi32>) -> tensor<2xi32> {
    %y = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>} : (tensor<2xi32>) -> tensor<2xi32>
    return %y : tensor<2xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[20, 21]> : tensor<2xi32>
    %2 = stablehlo.constant dense<[30, 31]> : tensor<2xi32>
    %3 = stablehlo.constant dense<[40, 41]> : tensor<2xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %r#0, dense<[30, 31]> : tensor<2xi32>
    check.expect_eq_const %r#1, dense<[40, 41]> : tensor<2xi32>
    check.expect_eq_const %r#2, dense<[0, 0]> : tensor<2xi32>
    check.expect_eq_const %r#3, dense<[0, 0]> : tensor<2xi32>
    func.return
  }
}

// -----

module @all_to_all_cross_replica_below_zero {
  func.func @program(%x: tensor<4xi32>) -> tensor<4xi32> {
    %y = "stablehlo.all_to_all"(%x) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = -2, type = 1>, split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64} : (tensor<4xi32>) -> tensor<4xi32>
    return %y : tensor<4xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11, 12, 13]> : tensor<4xi32>
    %1 = stablehlo.constant dense<[20, 21, 22, 23]> : tensor<4xi32>
    %2 = stablehlo.constant dense<[30, 31, 32, 33]> : tensor<4xi32>
    %3 = stablehlo.constant dense<[40, 41, 42, 43]> : tensor<4xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>)
    check.expect_eq_const %r#0, dense<[10, 11, 30, 31]> : tensor<4xi32>
    check.expect_eq_const %r#1, dense<[20, 21, 40, 41]> : tensor<4xi32>
    check.expect_eq_const %r#2, dense<[12, 13, 32, 33]> : tensor<4xi32>
    check.expect_eq_const %r#3, dense<[22, 23, 42, 43]> : tensor<4xi32>
    func.return
  }
}

// -----

module @collective_broadcast_cross_replica_below_zero {
  func.func @program(%x: tensor<2xi32>) -> tensor<2xi32> {
    %y = "stablehlo.collective_broadcast"(%x) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = -2, type = 1>} : (tensor<2xi32>) -> tensor<2xi32>
    return %y : tensor<2xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[20, 21]> : tensor<2xi32>
    %2 = stablehlo.constant dense<[30, 31]> : tensor<2xi32>
    %3 = stablehlo.constant dense<[40, 41]> : tensor<2xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %r#0, dense<[10, 11]> : tensor<2xi32>
    check.expect_eq_const %r#1, dense<[20, 21]> : tensor<2xi32>
    check.expect_eq_const %r#2, dense<[10, 11]> : tensor<2xi32>
    check.expect_eq_const %r#3, dense<[20, 21]> : tensor<2xi32>
    func.return
  }
}

// -----

module @collective_reduce_cross_replica_below_zero {
  func.func @program(%x: tensor<2xi32>) -> tensor<2xi32> {
    %y = "stablehlo.collective_reduce"(%x) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %s = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %s : tensor<i32>
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = -2, type = 1>} : (tensor<2xi32>) -> tensor<2xi32>
    return %y : tensor<2xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[20, 21]> : tensor<2xi32>
    %2 = stablehlo.constant dense<[30, 31]> : tensor<2xi32>
    %3 = stablehlo.constant dense<[40, 41]> : tensor<2xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %r#0, dense<[40, 42]> : tensor<2xi32>
    check.expect_eq_const %r#1, dense<[60, 62]> : tensor<2xi32>
    check.expect_eq_const %r#2, dense<[0, 0]> : tensor<2xi32>
    check.expect_eq_const %r#3, dense<[0, 0]> : tensor<2xi32>
    func.return
  }
}

// -----

module @collective_permute_cross_replica_below_zero {
  func.func @program(%x: tensor<2xi32>) -> tensor<2xi32> {
    %y = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = -2, type = 1>} : (tensor<2xi32>) -> tensor<2xi32>
    return %y : tensor<2xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[20, 21]> : tensor<2xi32>
    %2 = stablehlo.constant dense<[30, 31]> : tensor<2xi32>
    %3 = stablehlo.constant dense<[40, 41]> : tensor<2xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %r#0, dense<[0, 0]> : tensor<2xi32>
    check.expect_eq_const %r#1, dense<[0, 0]> : tensor<2xi32>
    check.expect_eq_const %r#2, dense<[10, 11]> : tensor<2xi32>
    check.expect_eq_const %r#3, dense<[20, 21]> : tensor<2xi32>
    func.return
  }
}

// -----

module @all_to_all_cross_partition {
  func.func @program(%x: tensor<4xi32>) -> tensor<4xi32> {
    %y = "stablehlo.all_to_all"(%x) {replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64} : (tensor<4xi32>) -> tensor<4xi32>
    return %y : tensor<4xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11, 12, 13]> : tensor<4xi32>
    %1 = stablehlo.constant dense<[20, 21, 22, 23]> : tensor<4xi32>
    %2 = stablehlo.constant dense<[30, 31, 32, 33]> : tensor<4xi32>
    %3 = stablehlo.constant dense<[40, 41, 42, 43]> : tensor<4xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>)
    check.expect_eq_const %r#0, dense<[22, 23, 12, 13]> : tensor<4xi32>
    check.expect_eq_const %r#1, dense<[20, 21, 10, 11]> : tensor<4xi32>
    check.expect_eq_const %r#2, dense<[42, 43, 32, 33]> : tensor<4xi32>
    check.expect_eq_const %r#3, dense<[40, 41, 30, 31]> : tensor<4xi32>
    func.return
  }
}

// -----

module @collective_broadcast_cross_partition {
  func.func @program(%x: tensor<2xi32>) -> tensor<2xi32> {
    %y = "stablehlo.collective_broadcast"(%x) {replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>} : (tensor<2xi32>) -> tensor<2xi32>
    return %y : tensor<2xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[20, 21]> : tensor<2xi32>
    %2 = stablehlo.constant dense<[30, 31]> : tensor<2xi32>
    %3 = stablehlo.constant dense<[40, 41]> : tensor<2xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %r#0, dense<[20, 21]> : tensor<2xi32>
    check.expect_eq_const %r#1, dense<[20, 21]> : tensor<2xi32>
    check.expect_eq_const %r#2, dense<[40, 41]> : tensor<2xi32>
    check.expect_eq_const %r#3, dense<[40, 41]> : tensor<2xi32>
    func.return
  }
}

// -----

module @collective_reduce_cross_partition {
  func.func @program(%x: tensor<2xi32>) -> tensor<2xi32> {
    %y = "stablehlo.collective_reduce"(%x) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %s = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %s : tensor<i32>
    }) {replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>} : (tensor<2xi32>) -> tensor<2xi32>
    return %y : tensor<2xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[20, 21]> : tensor<2xi32>
    %2 = stablehlo.constant dense<[30, 31]> : tensor<2xi32>
    %3 = stablehlo.constant dense<[40, 41]> : tensor<2xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %r#0, dense<[0, 0]> : tensor<2xi32>
    check.expect_eq_const %r#1, dense<[30, 32]> : tensor<2xi32>
    check.expect_eq_const %r#2, dense<[0, 0]> : tensor<2xi32>
    check.expect_eq_const %r#3, dense<[70, 72]> : tensor<2xi32>
    func.return
  }
}

// -----

module @collective_permute_cross_partition {
  func.func @program(%x: tensor<2xi32>) -> tensor<2xi32> {
    %y = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>} : (tensor<2xi32>) -> tensor<2xi32>
    return %y : tensor<2xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[20, 21]> : tensor<2xi32>
    %2 = stablehlo.constant dense<[30, 31]> : tensor<2xi32>
    %3 = stablehlo.constant dense<[40, 41]> : tensor<2xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %r#0, dense<[20, 21]> : tensor<2xi32>
    check.expect_eq_const %r#1, dense<[0, 0]> : tensor<2xi32>
    check.expect_eq_const %r#2, dense<[40, 41]> : tensor<2xi32>
    check.expect_eq_const %r#3, dense<[0, 0]> : tensor<2xi32>
    func.return
  }
}

// -----

module @all_to_all_cross_partition_in_order {
  func.func @program(%x: tensor<4xi32>) -> tensor<4xi32> {
    %y = "stablehlo.all_to_all"(%x) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64} : (tensor<4xi32>) -> tensor<4xi32>
    return %y : tensor<4xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11, 12, 13]> : tensor<4xi32>
    %1 = stablehlo.constant dense<[20, 21, 22, 23]> : tensor<4xi32>
    %2 = stablehlo.constant dense<[30, 31, 32, 33]> : tensor<4xi32>
    %3 = stablehlo.constant dense<[40, 41, 42, 43]> : tensor<4xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>)
    check.expect_eq_const %r#0, dense<[10, 11, 20, 21]> : tensor<4xi32>
    check.expect_eq_const %r#1, dense<[12, 13, 22, 23]> : tensor<4xi32>
    check.expect_eq_const %r#2, dense<[30, 31, 40, 41]> : tensor<4xi32>
    check.expect_eq_const %r#3, dense<[32, 33, 42, 43]> : tensor<4xi32>
    func.return
  }
}

// -----

module @collective_broadcast_cross_partition_in_order {
  func.func @program(%x: tensor<2xi32>) -> tensor<2xi32> {
    %y = "stablehlo.collective_broadcast"(%x) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>} : (tensor<2xi32>) -> tensor<2xi32>
    return %y : tensor<2xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[20, 21]> : tensor<2xi32>
    %2 = stablehlo.constant dense<[30, 31]> : tensor<2xi32>
    %3 = stablehlo.constant dense<[40, 41]> : tensor<2xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %r#0, dense<[10, 11]> : tensor<2xi32>
    check.expect_eq_const %r#1, dense<[10, 11]> : tensor<2xi32>
    check.expect_eq_const %r#2, dense<[30, 31]> : tensor<2xi32>
    check.expect_eq_const %r#3, dense<[30, 31]> : tensor<2xi32>
    func.return
  }
}

// -----

module @collective_reduce_cross_partition_in_order {
  func.func @program(%x: tensor<2xi32>) -> tensor<2xi32> {
    %y = "stablehlo.collective_reduce"(%x) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %s = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %s : tensor<i32>
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>} : (tensor<2xi32>) -> tensor<2xi32>
    return %y : tensor<2xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[20, 21]> : tensor<2xi32>
    %2 = stablehlo.constant dense<[30, 31]> : tensor<2xi32>
    %3 = stablehlo.constant dense<[40, 41]> : tensor<2xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %r#0, dense<[30, 32]> : tensor<2xi32>
    check.expect_eq_const %r#1, dense<[0, 0]> : tensor<2xi32>
    check.expect_eq_const %r#2, dense<[70, 72]> : tensor<2xi32>
    check.expect_eq_const %r#3, dense<[0, 0]> : tensor<2xi32>
    func.return
  }
}

// -----

module @collective_permute_cross_partition_in_order {
  func.func @program(%x: tensor<2xi32>) -> tensor<2xi32> {
    %y = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>} : (tensor<2xi32>) -> tensor<2xi32>
    return %y : tensor<2xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[20, 21]> : tensor<2xi32>
    %2 = stablehlo.constant dense<[30, 31]> : tensor<2xi32>
    %3 = stablehlo.constant dense<[40, 41]> : tensor<2xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %r#0, dense<[0, 0]> : tensor<2xi32>
    check.expect_eq_const %r#1, dense<[10, 11]> : tensor<2xi32>
    check.expect_eq_const %r#2, dense<[0, 0]> : tensor<2xi32>
    check.expect_eq_const %r#3, dense<[30, 31]> : tensor<2xi32>
    func.return
  }
}

// -----

module @collective_broadcast_some {
  func.func @program(%x: tensor<2xi32>) -> tensor<2xi32> {
    %y = "stablehlo.collective_broadcast"(%x) {replica_groups = dense<[[1]]> : tensor<1x1xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>} : (tensor<2xi32>) -> tensor<2xi32>
    return %y : tensor<2xi32>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[10, 11]> : tensor<2xi32>
    %1 = stablehlo.constant dense<[20, 21]> : tensor<2xi32>
    %2 = stablehlo.constant dense<[30, 31]> : tensor<2xi32>
    %3 = stablehlo.constant dense<[40, 41]> : tensor<2xi32>
    %r:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {programs = [[@program, @program], [@program, @program]]} : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %r#0, dense<[0, 0]> : tensor<2xi32>
    check.expect_eq_const %r#1, dense<[20, 21]> : tensor<2xi32>
    check.expect_eq_const %r#2, dense<[0, 0]> : tensor<2xi32>
    check.expect_eq_const %r#3, dense<[40, 41]> : tensor<2xi32>
    func.return
  }
}
