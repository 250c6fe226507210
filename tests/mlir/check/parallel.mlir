// Programs on several devices: collectives, send and recv between programs, infeed, probes.

module @distribution {
  func.func public @all_reduce(%operand : tensor<4xi64>) -> tensor<4xi64> {
    %result = "stablehlo.all_reduce"(%operand) ({
      ^bb0(%arg0: tensor<i64>, %arg1: tensor<i64>):
        %0 = stablehlo.add %arg0, %arg1 : tensor<i64>
        stablehlo.return %0 : tensor<i64>
    }) {
      replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>
    } : (tensor<4xi64>) -> tensor<4xi64>
    return %result : tensor<4xi64>
  }
  func.func public @main() {
    %inputs0 = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi64>
    %inputs1 = stablehlo.constant dense<[5, 6, 7, 8]> : tensor<4xi64>
    %results:2 = "interpreter.run_parallel"(%inputs0, %inputs1) {
      programs=[[@all_reduce], [@all_reduce]]
    } : (tensor<4xi64>, tensor<4xi64>) -> (tensor<4xi64>, tensor<4xi64>)
    check.expect_eq_const %results#0, dense<[6, 8, 10, 12]> : tensor<4xi64>
    check.expect_eq_const %results#1, dense<[6, 8, 10, 12]> : tensor<4xi64>
    func.return
  }
}

// -----

module @sr {
  func.func public @send(%operand : tensor<2xi64>) -> !stablehlo.token {
    %token = stablehlo.create_token : !stablehlo.token
    %result = "stablehlo.send"(%operand, %token) {
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>
    } : (tensor<2xi64>, !stablehlo.token) -> !stablehlo.token
    return %result : !stablehlo.token
  }
  func.func public @recv() -> tensor<2xi64> {
    %token = stablehlo.create_token : !stablehlo.token
    %results:2 = "stablehlo.recv"(%token) {
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>
    } : (!stablehlo.token) -> (tensor<2xi64>, !stablehlo.token)
    return %results#0 : tensor<2xi64>
  }
  func.func public @main() {
    %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
    %results:2 = "interpreter.run_parallel"(%0) {
      programs=[[@send], [@recv]]
    } : (tensor<2xi64>) -> (!stablehlo.token, tensor<2xi64>)
    %1 = interpreter.probe %results#1, probe_id = "p" : tensor<2xi64>
    interpreter.print %1 : tensor<2xi64>
    check.expect_serialized_eq %1, probe_id = "p", iter = 0 : tensor<2xi64>
    check.expect_eq_const %results#1, dense<[1, 2]> : tensor<2xi64>
    func.return
  }
}

// -----

// Who is a target of nobody receives zeros, and waits for nobody.
module @pairs {
  func.func public @one(%operand : tensor<2xi64>) -> tensor<2xi64> {
    %token = stablehlo.create_token : !stablehlo.token
    %sent = "stablehlo.send"(%operand, %token) {
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0], [2, 1]]> : tensor<2x2xi64>
    } : (tensor<2xi64>, !stablehlo.token) -> !stablehlo.token
    %results:2 = "stablehlo.recv"(%sent) {
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0], [2, 1]]> : tensor<2x2xi64>
    } : (!stablehlo.token) -> (tensor<2xi64>, !stablehlo.token)
    return %results#0 : tensor<2xi64>
  }
  func.func public @main() {
    %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
    %1 = stablehlo.constant dense<[3, 4]> : tensor<2xi64>
    %2 = stablehlo.constant dense<[5, 6]> : tensor<2xi64>
    %results:3 = "interpreter.run_parallel"(%0, %1, %2) {
      programs=[[@one], [@one], [@one]]
    } : (tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> (tensor<2xi64>, tensor<2xi64>, tensor<2xi64>)
    check.expect_eq_const %results#0, dense<[3, 4]> : tensor<2xi64>
    check.expect_eq_const %results#1, dense<[5, 6]> : tensor<2xi64>
    check.expect_eq_const %results#2, dense<[0, 0]> : tensor<2xi64>
    func.return
  }
}

// -----

module @inf {
  func.func @infeed_q0() -> (tensor<2x2xi64>) {
    %0 = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
    func.return %0 : tensor<2x2xi64>
  }
  func.func @infeed_q1() -> (tensor<2x2xi64>) {
    %0 = stablehlo.constant dense<[[5, 6], [7, 8]]> : tensor<2x2xi64>
    func.return %0 : tensor<2x2xi64>
  }
  func.func public @infeed() -> (tensor<2x2xi64>, tensor<2x2xi64>) {
    %token = stablehlo.after_all : !stablehlo.token
    %results0:2 = "stablehlo.infeed"(%token) {infeed_config = ""} : (!stablehlo.token) -> (tensor<2x2xi64>, !stablehlo.token)
    %results1:2 = "stablehlo.infeed"(%token) {infeed_config = ""} : (!stablehlo.token) -> (tensor<2x2xi64>, !stablehlo.token)
    func.return %results0#0, %results1#0 : tensor<2x2xi64>, tensor<2x2xi64>
  }
  func.func @main() {
    %results:2 = "interpreter.run_parallel"() {
      infeed=[@infeed_q0, @infeed_q1],
      programs=[[@infeed]]
    } : () -> (tensor<2x2xi64>, tensor<2x2xi64>)
    check.expect_eq_const %results#0, dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
    check.expect_eq_const %results#1, dense<[[5, 6], [7, 8]]> : tensor<2x2xi64>
    func.return
  }
}

// -----

// The specification's examples of collective_reduce, with the root first in its group and with one that a value names,
// and of collective_broadcast with such roots; devices of no group get zeros. cross-replica-sum, as programs before
// all_reduce have it.
module @roots {
  func.func public @reduce(%operand : tensor<1x2xi64>) -> tensor<1x2xi64> {
    %result = "stablehlo.collective_reduce"(%operand) ({
      ^bb0(%arg0: tensor<i64>, %arg1: tensor<i64>):
        %0 = stablehlo.add %arg0, %arg1 : tensor<i64>
        stablehlo.return %0 : tensor<i64>
    }) {
      has_dynamic_root = false,
      replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 0, type = 0>
    } : (tensor<1x2xi64>) -> tensor<1x2xi64>
    return %result : tensor<1x2xi64>
  }
  func.func public @main() {
    %0 = stablehlo.constant dense<[[1, 2]]> : tensor<1x2xi64>
    %1 = stablehlo.constant dense<[[3, 4]]> : tensor<1x2xi64>
    %2 = stablehlo.constant dense<[[5, 6]]> : tensor<1x2xi64>
    %3 = stablehlo.constant dense<[[7, 8]]> : tensor<1x2xi64>
    %results:4 = "interpreter.run_parallel"(%0, %1, %2, %3) {
      programs=[[@reduce], [@reduce], [@reduce], [@reduce]]
    } : (tensor<1x2xi64>, tensor<1x2xi64>, tensor<1x2xi64>, tensor<1x2xi64>) -> (tensor<1x2xi64>, tensor<1x2xi64>, tensor<1x2xi64>, tensor<1x2xi64>)
    check.expect_eq_const %results#0, dense<[[16, 20]]> : tensor<1x2xi64>
    check.expect_eq_const %results#1, dense<0> : tensor<1x2xi64>
    check.expect_eq_const %results#2, dense<0> : tensor<1x2xi64>
    check.expect_eq_const %results#3, dense<0> : tensor<1x2xi64>
    func.return
  }
}

// -----

module @roots_that_values_name {
  func.func public @all(%operand : tensor<1x2xi64>) -> (tensor<1x2xi64>, tensor<1x2xi32>, tensor<1x2xi64>, tensor<1x2xi64>) {
    %root = stablehlo.constant dense<[3]> : tensor<1xi32>
    %result = "stablehlo.collective_reduce"(%operand, %root) ({
      ^bb0(%arg0: tensor<i64>, %arg1: tensor<i64>):
        %0 = stablehlo.add %arg0, %arg1 : tensor<i64>
        stablehlo.return %0 : tensor<i64>
    }) {
      has_dynamic_root = true,
      replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>
    } : (tensor<1x2xi64>, tensor<1xi32>) -> tensor<1x2xi64>
    %roots = stablehlo.constant dense<[1, 0]> : tensor<2xi32>
    %small = stablehlo.convert %operand : (tensor<1x2xi64>) -> tensor<1x2xi32>
    %b:2 = "stablehlo.collective_broadcast"(%small, %operand, %roots) {
      has_dynamic_root = true,
      replica_groups = dense<[[2, 1]]> : tensor<1x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 2, type = 0>
    } : (tensor<1x2xi32>, tensor<1x2xi64>, tensor<2xi32>) -> (tensor<1x2xi32>, tensor<1x2xi64>)
    %sum = "stablehlo.cross-replica-sum"(%operand) {replica_groups = dense<[[0]]> : tensor<1x1xi64>} : (tensor<1x2xi64>) -> tensor<1x2xi64>
    return %result, %b#0, %b#1, %sum : tensor<1x2xi64>, tensor<1x2xi32>, tensor<1x2xi64>, tensor<1x2xi64>
  }
  func.func public @main() {
    %0 = stablehlo.constant dense<[[1, 2]]> : tensor<1x2xi64>
    %1 = stablehlo.constant dense<[[3, 4]]> : tensor<1x2xi64>
    %2 = stablehlo.constant dense<[[5, 6]]> : tensor<1x2xi64>
    %3 = stablehlo.constant dense<[[7, 8]]> : tensor<1x2xi64>
    %r:16 = "interpreter.run_parallel"(%0, %1, %2, %3) {
      programs=[[@all, @all, @all, @all]]
    } : (tensor<1x2xi64>, tensor<1x2xi64>, tensor<1x2xi64>, tensor<1x2xi64>) -> (tensor<1x2xi64>, tensor<1x2xi32>, tensor<1x2xi64>, tensor<1x2xi64>, tensor<1x2xi64>, tensor<1x2xi32>, tensor<1x2xi64>, tensor<1x2xi64>, tensor<1x2xi64>, tensor<1x2xi32>, tensor<1x2xi64>, tensor<1x2xi64>, tensor<1x2xi64>, tensor<1x2xi32>, tensor<1x2xi64>, tensor<1x2xi64>)
    check.expect_eq_const %r#0, dense<0> : tensor<1x2xi64>
    check.expect_eq_const %r#4, dense<0> : tensor<1x2xi64>
    check.expect_eq_const %r#8, dense<0> : tensor<1x2xi64>
    check.expect_eq_const %r#12, dense<[[16, 20]]> : tensor<1x2xi64>
    check.expect_eq_const %r#1, dense<0> : tensor<1x2xi32>
    check.expect_eq_const %r#5, dense<[[3, 4]]> : tensor<1x2xi32>
    check.expect_eq_const %r#9, dense<[[3, 4]]> : tensor<1x2xi32>
    check.expect_eq_const %r#13, dense<0> : tensor<1x2xi32>
    check.expect_eq_const %r#2, dense<0> : tensor<1x2xi64>
    check.expect_eq_const %r#6, dense<[[5, 6]]> : tensor<1x2xi64>
    check.expect_eq_const %r#10, dense<[[5, 6]]> : tensor<1x2xi64>
    check.expect_eq_const %r#14, dense<0> : tensor<1x2xi64>
    check.expect_eq_const %r#7, dense<[[3, 4]]> : tensor<1x2xi64>
    func.return
  }
}
