module @jit_react attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<128x128x2xf32>) -> (tensor<128x128x2xf32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0) : tensor<i32>, tensor<128x128x2xf32>
    cond {
      %c_1 = stablehlo.constant dense<16> : tensor<i32>
      %1 = stablehlo.compare LT, %iterArg, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = func.call @closed_call(%iterArg_0) : (tensor<128x128x2xf32>) -> tensor<128x128x2xf32>
      %c_1 = stablehlo.constant dense<1> : tensor<i32>
      %2 = stablehlo.add %iterArg, %c_1 : tensor<i32>
      stablehlo.return %2, %1 : tensor<i32>, tensor<128x128x2xf32>
    }
    return %0#1 : tensor<128x128x2xf32>
  }
  func.func private @closed_call(%arg0: tensor<128x128x2xf32>) -> tensor<128x128x2xf32> {
    %0 = stablehlo.slice %arg0 [0:128, 0:128, 0:1] : (tensor<128x128x2xf32>) -> tensor<128x128x1xf32>
    %1 = stablehlo.reshape %0 : (tensor<128x128x1xf32>) -> tensor<128x128xf32>
    %2 = stablehlo.slice %arg0 [0:128, 0:128, 1:2] : (tensor<128x128x2xf32>) -> tensor<128x128x1xf32>
    %3 = stablehlo.reshape %2 : (tensor<128x128x1xf32>) -> tensor<128x128xf32>
    %4 = stablehlo.multiply %1, %3 : tensor<128x128xf32>
    %5 = stablehlo.multiply %4, %3 : tensor<128x128xf32>
    %6 = call @_roll_static(%1) : (tensor<128x128xf32>) -> tensor<128x128xf32>
    %7 = call @_roll_static_0(%1) : (tensor<128x128xf32>) -> tensor<128x128xf32>
    %8 = stablehlo.add %6, %7 : tensor<128x128xf32>
    %9 = call @_roll_static_1(%1) : (tensor<128x128xf32>) -> tensor<128x128xf32>
    %10 = call @_roll_static_2(%1) : (tensor<128x128xf32>) -> tensor<128x128xf32>
    %11 = stablehlo.add %9, %10 : tensor<128x128xf32>
    %12 = call @_roll_static_1(%8) : (tensor<128x128xf32>) -> tensor<128x128xf32>
    %13 = call @_roll_static_2(%8) : (tensor<128x128xf32>) -> tensor<128x128xf32>
    %14 = stablehlo.add %12, %13 : tensor<128x128xf32>
    %15 = stablehlo.add %8, %11 : tensor<128x128xf32>
    %cst = stablehlo.constant dense<2.000000e-01> : tensor<f32>
    %16 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
    %17 = stablehlo.multiply %16, %15 : tensor<128x128xf32>
    %cst_0 = stablehlo.constant dense<5.000000e-02> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
    %19 = stablehlo.multiply %18, %14 : tensor<128x128xf32>
    %20 = stablehlo.add %17, %19 : tensor<128x128xf32>
    %21 = stablehlo.subtract %20, %1 : tensor<128x128xf32>
    %cst_1 = stablehlo.constant dense<2.000000e-01> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
    %23 = stablehlo.multiply %22, %21 : tensor<128x128xf32>
    %24 = stablehlo.add %1, %23 : tensor<128x128xf32>
    %25 = stablehlo.subtract %24, %5 : tensor<128x128xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %26 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
    %27 = stablehlo.subtract %26, %1 : tensor<128x128xf32>
    %cst_3 = stablehlo.constant dense<3.700000e-02> : tensor<f32>
    %28 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
    %29 = stablehlo.multiply %28, %27 : tensor<128x128xf32>
    %30 = stablehlo.add %25, %29 : tensor<128x128xf32>
    %31 = call @_roll_static(%3) : (tensor<128x128xf32>) -> tensor<128x128xf32>
    %32 = call @_roll_static_0(%3) : (tensor<128x128xf32>) -> tensor<128x128xf32>
    %33 = stablehlo.add %31, %32 : tensor<128x128xf32>
    %34 = call @_roll_static_1(%3) : (tensor<128x128xf32>) -> tensor<128x128xf32>
    %35 = call @_roll_static_2(%3) : (tensor<128x128xf32>) -> tensor<128x128xf32>
    %36 = stablehlo.add %34, %35 : tensor<128x128xf32>
    %37 = call @_roll_static_1(%33) : (tensor<128x128xf32>) -> tensor<128x128xf32>
    %38 = call @_roll_static_2(%33) : (tensor<128x128xf32>) -> tensor<128x128xf32>
    %39 = stablehlo.add %37, %38 : tensor<128x128xf32>
    %40 = stablehlo.add %33, %36 : tensor<128x128xf32>
    %cst_4 = stablehlo.constant dense<2.000000e-01> : tensor<f32>
    %41 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
    %42 = stablehlo.multiply %41, %40 : tensor<128x128xf32>
    %cst_5 = stablehlo.constant dense<5.000000e-02> : tensor<f32>
    %43 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
    %44 = stablehlo.multiply %43, %39 : tensor<128x128xf32>
    %45 = stablehlo.add %42, %44 : tensor<128x128xf32>
    %46 = stablehlo.subtract %45, %3 : tensor<128x128xf32>
    %cst_6 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %47 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
    %48 = stablehlo.multiply %47, %46 : tensor<128x128xf32>
    %49 = stablehlo.add %3, %48 : tensor<128x128xf32>
    %50 = stablehlo.add %49, %5 : tensor<128x128xf32>
    %cst_7 = stablehlo.constant dense<9.700000e-02> : tensor<f32>
    %51 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
    %52 = stablehlo.multiply %51, %3 : tensor<128x128xf32>
    %53 = stablehlo.subtract %50, %52 : tensor<128x128xf32>
    %54 = stablehlo.broadcast_in_dim %30, dims = [0, 1] : (tensor<128x128xf32>) -> tensor<128x128x1xf32>
    %55 = stablehlo.broadcast_in_dim %53, dims = [0, 1] : (tensor<128x128xf32>) -> tensor<128x128x1xf32>
    %56 = stablehlo.concatenate %54, %55, dim = 2 : (tensor<128x128x1xf32>, tensor<128x128x1xf32>) -> tensor<128x128x2xf32>
    return %56 : tensor<128x128x2xf32>
  }
  func.func private @_roll_static(%arg0: tensor<128x128xf32>) -> tensor<128x128xf32> {
    %0 = stablehlo.slice %arg0 [127:128, 0:128] : (tensor<128x128xf32>) -> tensor<1x128xf32>
    %1 = stablehlo.slice %arg0 [0:127, 0:128] : (tensor<128x128xf32>) -> tensor<127x128xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1x128xf32>, tensor<127x128xf32>) -> tensor<128x128xf32>
    return %2 : tensor<128x128xf32>
  }
  func.func private @_roll_static_0(%arg0: tensor<128x128xf32>) -> tensor<128x128xf32> {
    %0 = stablehlo.slice %arg0 [1:128, 0:128] : (tensor<128x128xf32>) -> tensor<127x128xf32>
    %1 = stablehlo.slice %arg0 [0:1, 0:128] : (tensor<128x128xf32>) -> tensor<1x128xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<127x128xf32>, tensor<1x128xf32>) -> tensor<128x128xf32>
    return %2 : tensor<128x128xf32>
  }
  func.func private @_roll_static_1(%arg0: tensor<128x128xf32>) -> tensor<128x128xf32> {
    %0 = stablehlo.slice %arg0 [0:128, 127:128] : (tensor<128x128xf32>) -> tensor<128x1xf32>
    %1 = stablehlo.slice %arg0 [0:128, 0:127] : (tensor<128x128xf32>) -> tensor<128x127xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<128x1xf32>, tensor<128x127xf32>) -> tensor<128x128xf32>
    return %2 : tensor<128x128xf32>
  }
  func.func private @_roll_static_2(%arg0: tensor<128x128xf32>) -> tensor<128x128xf32> {
    %0 = stablehlo.slice %arg0 [0:128, 1:128] : (tensor<128x128xf32>) -> tensor<128x127xf32>
    %1 = stablehlo.slice %arg0 [0:128, 0:1] : (tensor<128x128xf32>) -> tensor<128x1xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<128x127xf32>, tensor<128x1xf32>) -> tensor<128x128xf32>
    return %2 : tensor<128x128xf32>
  }
}
