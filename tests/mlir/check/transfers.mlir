// infeed, outfeed, send and recv of the programs of run_parallel: what comes out of them is checked.

module @infeeds {
  func.func @takes(%t: !stablehlo.token) -> (tensor<3xi32>, !stablehlo.token) {
    %a, %u = "stablehlo.infeed"(%t) : (!stablehlo.token) -> (tensor<3xi32>, !stablehlo.token)
    check.expect_eq_const %a, dense<[1, 2, 3]> : tensor<3xi32>
    %b, %v = "stablehlo.infeed"(%u) : (!stablehlo.token) -> (tensor<3xi32>, !stablehlo.token)
    %c = stablehlo.subtract %b, %a : tensor<3xi32>
    return %c, %v : tensor<3xi32>, !stablehlo.token
  }
  func.func @first() -> tensor<3xi32> {
    %0 = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
    return %0 : tensor<3xi32>
  }
  func.func @second() -> tensor<3xi32> {
    %0 = call @first() : () -> tensor<3xi32>
    %1 = stablehlo.constant dense<10> : tensor<3xi32>
    %2 = stablehlo.multiply %0, %1 : tensor<3xi32>
    return %2 : tensor<3xi32>
  }
  func.func @main() {
    %t = stablehlo.after_all : !stablehlo.token
    %r:2 = "interpreter.run_parallel"(%t) {infeed = [@first, @second], programs = [[@takes]]}
      : (!stablehlo.token) -> (tensor<3xi32>, !stablehlo.token)
    check.expect_eq_const %r#0, dense<[9, 18, 27]> : tensor<3xi32>
    func.return
  }
}

// -----

// Tokens stand between arrays, and what is outfed is a value still.
module @outfeeds {
  func.func @gives(%t: !stablehlo.token, %x: tensor<2xf64>, %u: !stablehlo.token, %y: tensor<2xf64>) -> (!stablehlo.token, tensor<2xf64>) {
    %0 = stablehlo.add %x, %y : tensor<2xf64>
    %1 = "stablehlo.outfeed"(%0, %x, %t) : (tensor<2xf64>, tensor<2xf64>, !stablehlo.token) -> !stablehlo.token
    %2 = stablehlo.after_all %1, %u : !stablehlo.token
    %3 = "stablehlo.outfeed"(%y, %2) {outfeed_config = "x"} : (tensor<2xf64>, !stablehlo.token) -> !stablehlo.token
    return %3, %0 : !stablehlo.token, tensor<2xf64>
  }
  func.func @main() {
    %t = stablehlo.after_all : !stablehlo.token
    %a = stablehlo.constant dense<[0.5, 1.5]> : tensor<2xf64>
    %r:4 = "interpreter.run_parallel"(%t, %a, %t, %a, %t, %a, %t, %a) {programs = [[@gives, @gives]]}
      : (!stablehlo.token, tensor<2xf64>, !stablehlo.token, tensor<2xf64>, !stablehlo.token, tensor<2xf64>, !stablehlo.token, tensor<2xf64>)
        -> (!stablehlo.token, tensor<2xf64>, !stablehlo.token, tensor<2xf64>)
    check.expect_eq_const %r#1, dense<[1.0, 3.0]> : tensor<2xf64>
    check.expect_eq %r#1, %r#3 : tensor<2xf64>
    func.return
  }
}

// -----

// Transfers that say they are the host's meet in the grid; two on one channel in their order.
module @transfers_of_the_host {
  func.func @sends(%x: tensor<2xi64>, %t: !stablehlo.token) -> !stablehlo.token {
    %0 = "stablehlo.send"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true}
      : (tensor<2xi64>, !stablehlo.token) -> !stablehlo.token
    %1 = stablehlo.negate %x : tensor<2xi64>
    %2 = "stablehlo.send"(%1, %0) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true}
      : (tensor<2xi64>, !stablehlo.token) -> !stablehlo.token
    return %2 : !stablehlo.token
  }
  func.func @receives(%t: !stablehlo.token) -> (tensor<2xi64>, tensor<2xi64>) {
    %0, %1 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 3>, is_host_transfer = true}
      : (!stablehlo.token) -> (tensor<2xi64>, !stablehlo.token)
    check.expect_eq_const %0, dense<[7, -8]> : tensor<2xi64>
    %2, %3 = "stablehlo.recv"(%1) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 3>, is_host_transfer = true}
      : (!stablehlo.token) -> (tensor<2xi64>, !stablehlo.token)
    return %0, %2 : tensor<2xi64>, tensor<2xi64>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[7, -8]> : tensor<2xi64>
    %t = stablehlo.after_all : !stablehlo.token
    %r:3 = "interpreter.run_parallel"(%x, %t, %t) {programs = [[@sends], [@receives]]}
      : (tensor<2xi64>, !stablehlo.token, !stablehlo.token) -> (!stablehlo.token, tensor<2xi64>, tensor<2xi64>)
    check.expect_eq_const %r#1, dense<[7, -8]> : tensor<2xi64>
    check.expect_eq_const %r#2, dense<[-7, 8]> : tensor<2xi64>
    func.return
  }
}
