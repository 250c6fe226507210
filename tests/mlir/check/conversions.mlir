// Complex numbers become other types by their real parts: to every type, NaN and infinities too. One-bit elements are
// joined to wider types and split from them, the first the lowest.

func.func @from_complex_f32() {
  %c = stablehlo.constant dense<[(1.75, 9.0), (1.0, -0.5), (0.0, 4.0), (0.0, 0x7FC00000)]> : tensor<4xcomplex<f32>>
  %0 = stablehlo.convert %c : (tensor<4xcomplex<f32>>) -> tensor<4xi2>
  check.expect_eq_const %0, dense<[1, 1, 0, 0]> : tensor<4xi2>
  %1 = stablehlo.convert %c : (tensor<4xcomplex<f32>>) -> tensor<4xi4>
  check.expect_eq_const %1, dense<[1, 1, 0, 0]> : tensor<4xi4>
  %2 = stablehlo.convert %c : (tensor<4xcomplex<f32>>) -> tensor<4xi8>
  check.expect_eq_const %2, dense<[1, 1, 0, 0]> : tensor<4xi8>
  %3 = stablehlo.convert %c : (tensor<4xcomplex<f32>>) -> tensor<4xi16>
  check.expect_eq_const %3, dense<[1, 1, 0, 0]> : tensor<4xi16>
  %4 = stablehlo.convert %c : (tensor<4xcomplex<f32>>) -> tensor<4xi32>
  check.expect_eq_const %4, dense<[1, 1, 0, 0]> : tensor<4xi32>
  %5 = stablehlo.convert %c : (tensor<4xcomplex<f32>>) -> tensor<4xi64>
  check.expect_eq_const %5, dense<[1, 1, 0, 0]> : tensor<4xi64>
  %6 = stablehlo.convert %c : (tensor<4xcomplex<f32>>) -> tensor<4xui2>
  check.expect_eq_const %6, dense<[1, 1, 0, 0]> : tensor<4xui2>
  %7 = stablehlo.convert %c : (tensor<4xcomplex<f32>>) -> tensor<4xui4>
  check.expect_eq_const %7, dense<[1, 1, 0, 0]> : tensor<4xui4>
  %8 = stablehlo.convert %c : (tensor<4xcomplex<f32>>) -> tensor<4xui8>
  check.expect_eq_const %8, dense<[1, 1, 0, 0]> : tensor<4xui8>
  %9 = stablehlo.convert %c : (tensor<4xcomplex<f32>>) -> tensor<4xui16>
  check.expect_eq_const %9, dense<[1, 1, 0, 0]> : tensor<4xui16>
  %10 = stablehlo.convert %c : (tensor<4xcomplex<f32>>) -> tensor<4xui32>
  check.expect_eq_const %10, dense<[1, 1, 0, 0]> : tensor<4xui32>
  %11 = stablehlo.convert %c : (tensor<4xcomplex<f32>>) -> tensor<4xui64>
  check.expect_eq_const %11, dense<[1, 1, 0, 0]> : tensor<4xui64>
  %12 = stablehlo.convert %c : (tensor<4xcomplex<f32>>) -> tensor<4xi1>
  check.expect_eq_const %12, dense<[true, true, false, false]> : tensor<4xi1>
  %13 = stablehlo.convert %c : (tensor<4xcomplex<f32>>) -> tensor<4xf8E4M3FN>
  check.expect_eq_const %13, dense<[1.75, 1.0, 0.0, 0.0]> : tensor<4xf8E4M3FN>
  %14 = stablehlo.convert %c : (tensor<4xcomplex<f32>>) -> tensor<4xf8E5M2>
  check.expect_eq_const %14, dense<[1.75, 1.0, 0.0, 0.0]> : tensor<4xf8E5M2>
  %15 = stablehlo.convert %c : (tensor<4xcomplex<f32>>) -> tensor<4xf8E4M3B11FNUZ>
  check.expect_eq_const %15, dense<[1.75, 1.0, 0.0, 0.0]> : tensor<4xf8E4M3B11FNUZ>
  %16 = stablehlo.convert %c : (tensor<4xcomplex<f32>>) -> tensor<4xf8E5M2FNUZ>
  check.expect_eq_const %16, dense<[1.75, 1.0, 0.0, 0.0]> : tensor<4xf8E5M2FNUZ>
  %17 = stablehlo.convert %c : (tensor<4xcomplex<f32>>) -> tensor<4xf8E4M3FNUZ>
  check.expect_eq_const %17, dense<[1.75, 1.0, 0.0, 0.0]> : tensor<4xf8E4M3FNUZ>
  %18 = stablehlo.convert %c : (tensor<4xcomplex<f32>>) -> tensor<4xbf16>
  check.expect_eq_const %18, dense<[1.75, 1.0, 0.0, 0.0]> : tensor<4xbf16>
  %19 = stablehlo.convert %c : (tensor<4xcomplex<f32>>) -> tensor<4xf16>
  check.expect_eq_const %19, dense<[1.75, 1.0, 0.0, 0.0]> : tensor<4xf16>
  %20 = stablehlo.convert %c : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  check.expect_eq_const %20, dense<[1.75, 1.0, 0.0, 0.0]> : tensor<4xf32>
  %21 = stablehlo.convert %c : (tensor<4xcomplex<f32>>) -> tensor<4xf64>
  check.expect_eq_const %21, dense<[1.75, 1.0, 0.0, 0.0]> : tensor<4xf64>
  func.return
}

func.func @from_complex_f64() {
  %c = stablehlo.constant dense<[(1.75, 9.0), (1.0, -0.5), (0.0, 4.0), (0.0, 0x7FF8000000000000)]> : tensor<4xcomplex<f64>>
  %0 = stablehlo.convert %c : (tensor<4xcomplex<f64>>) -> tensor<4xi2>
  check.expect_eq_const %0, dense<[1, 1, 0, 0]> : tensor<4xi2>
  %1 = stablehlo.convert %c : (tensor<4xcomplex<f64>>) -> tensor<4xi4>
  check.expect_eq_const %1, dense<[1, 1, 0, 0]> : tensor<4xi4>
  %2 = stablehlo.convert %c : (tensor<4xcomplex<f64>>) -> tensor<4xi8>
  check.expect_eq_const %2, dense<[1, 1, 0, 0]> : tensor<4xi8>
  %3 = stablehlo.convert %c : (tensor<4xcomplex<f64>>) -> tensor<4xi16>
  check.expect_eq_const %3, dense<[1, 1, 0, 0]> : tensor<4xi16>
  %4 = stablehlo.convert %c : (tensor<4xcomplex<f64>>) -> tensor<4xi32>
  check.expect_eq_const %4, dense<[1, 1, 0, 0]> : tensor<4xi32>
  %5 = stablehlo.convert %c : (tensor<4xcomplex<f64>>) -> tensor<4xi64>
  check.expect_eq_const %5, dense<[1, 1, 0, 0]> : tensor<4xi64>
  %6 = stablehlo.convert %c : (tensor<4xcomplex<f64>>) -> tensor<4xui2>
  check.expect_eq_const %6, dense<[1, 1, 0, 0]> : tensor<4xui2>
  %7 = stablehlo.convert %c : (tensor<4xcomplex<f64>>) -> tensor<4xui4>
  check.expect_eq_const %7, dense<[1, 1, 0, 0]> : tensor<4xui4>
  %8 = stablehlo.convert %c : (tensor<4xcomplex<f64>>) -> tensor<4xui8>
  check.expect_eq_const %8, dense<[1, 1, 0, 0]> : tensor<4xui8>
  %9 = stablehlo.convert %c : (tensor<4xcomplex<f64>>) -> tensor<4xui16>
  check.expect_eq_const %9, dense<[1, 1, 0, 0]> : tensor<4xui16>
  %10 = stablehlo.convert %c : (tensor<4xcomplex<f64>>) -> tensor<4xui32>
  check.expect_eq_const %10, dense<[1, 1, 0, 0]> : tensor<4xui32>
  %11 = stablehlo.convert %c : (tensor<4xcomplex<f64>>) -> tensor<4xui64>
  check.expect_eq_const %11, dense<[1, 1, 0, 0]> : tensor<4xui64>
  %12 = stablehlo.convert %c : (tensor<4xcomplex<f64>>) -> tensor<4xi1>
  check.expect_eq_const %12, dense<[true, true, false, false]> : tensor<4xi1>
  %13 = stablehlo.convert %c : (tensor<4xcomplex<f64>>) -> tensor<4xf8E4M3FN>
  check.expect_eq_const %13, dense<[1.75, 1.0, 0.0, 0.0]> : tensor<4xf8E4M3FN>
  %14 = stablehlo.convert %c : (tensor<4xcomplex<f64>>) -> tensor<4xf8E5M2>
  check.expect_eq_const %14, dense<[1.75, 1.0, 0.0, 0.0]> : tensor<4xf8E5M2>
  %15 = stablehlo.convert %c : (tensor<4xcomplex<f64>>) -> tensor<4xf8E4M3B11FNUZ>
  check.expect_eq_const %15, dense<[1.75, 1.0, 0.0, 0.0]> : tensor<4xf8E4M3B11FNUZ>
  %16 = stablehlo.convert %c : (tensor<4xcomplex<f64>>) -> tensor<4xf8E5M2FNUZ>
  check.expect_eq_const %16, dense<[1.75, 1.0, 0.0, 0.0]> : tensor<4xf8E5M2FNUZ>
  %17 = stablehlo.convert %c : (tensor<4xcomplex<f64>>) -> tensor<4xf8E4M3FNUZ>
  check.expect_eq_const %17, dense<[1.75, 1.0, 0.0, 0.0]> : tensor<4xf8E4M3FNUZ>
  %18 = stablehlo.convert %c : (tensor<4xcomplex<f64>>) -> tensor<4xbf16>
  check.expect_eq_const %18, dense<[1.75, 1.0, 0.0, 0.0]> : tensor<4xbf16>
  %19 = stablehlo.convert %c : (tensor<4xcomplex<f64>>) -> tensor<4xf16>
  check.expect_eq_const %19, dense<[1.75, 1.0, 0.0, 0.0]> : tensor<4xf16>
  %20 = stablehlo.convert %c : (tensor<4xcomplex<f64>>) -> tensor<4xf32>
  check.expect_eq_const %20, dense<[1.75, 1.0, 0.0, 0.0]> : tensor<4xf32>
  %21 = stablehlo.convert %c : (tensor<4xcomplex<f64>>) -> tensor<4xf64>
  check.expect_eq_const %21, dense<[1.75, 1.0, 0.0, 0.0]> : tensor<4xf64>
  func.return
}

func.func @special_real_parts() {
  %c = stablehlo.constant dense<[(0x7F800000, 1.0), (0xFF800000, 0x7FC00000), (0x7FC00000, 2.0)]> : tensor<3xcomplex<f32>>
  %0 = stablehlo.convert %c : (tensor<3xcomplex<f32>>) -> tensor<3xf64>
  check.expect_eq_const %0, dense<[0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000]> : tensor<3xf64>
  %1 = stablehlo.convert %c : (tensor<3xcomplex<f32>>) -> tensor<3xi1>
  check.expect_eq_const %1, dense<[true, true, true]> : tensor<3xi1>
  %2 = stablehlo.convert %c : (tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f64>>
  %3 = stablehlo.real %2 : (tensor<3xcomplex<f64>>) -> tensor<3xf64>
  check.expect_eq %3, %0 : tensor<3xf64>
  func.return
}

func.func @in_a_reducer() {
  %c = stablehlo.constant dense<[(1.0, 2.0), (3.0, 4.0)]> : tensor<2xcomplex<f32>>
  %z = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f32>>
  %r = "stablehlo.reduce"(%c, %z) ({
    ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
      %x = stablehlo.convert %a : (tensor<complex<f32>>) -> tensor<f32>
      %y = stablehlo.convert %b : (tensor<complex<f32>>) -> tensor<f32>
      %s = stablehlo.add %x, %y : tensor<f32>
      %t = stablehlo.convert %s : (tensor<f32>) -> tensor<complex<f32>>
      stablehlo.return %t : tensor<complex<f32>>
  }) {dimensions = array<i64: 0>} : (tensor<2xcomplex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
  check.expect_eq_const %r, dense<(4.0, 0.0)> : tensor<complex<f32>>
  func.return
}

func.func @one_bit_elements() {
  %a = stablehlo.constant dense<[[1, 128], [255, 90]]> : tensor<2x2xui8>
  %b = stablehlo.bitcast_convert %a : (tensor<2x2xui8>) -> tensor<2x2x8xi1>
  check.expect_eq_const %b, dense<[[[true, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, true]], [[true, true, true, true, true, true, true, true], [false, true, false, true, true, false, true, false]]]> : tensor<2x2x8xi1>
  %c = stablehlo.bitcast_convert %b : (tensor<2x2x8xi1>) -> tensor<2x2xui8>
  check.expect_eq %c, %a : tensor<2x2xui8>
  %d = stablehlo.reshape %b : (tensor<2x2x8xi1>) -> tensor<2x16xi1>
  %e = stablehlo.bitcast_convert %d : (tensor<2x16xi1>) -> tensor<2xi16>
  check.expect_eq_const %e, dense<[-32767, 23295]> : tensor<2xi16>
  %f = stablehlo.reshape %b : (tensor<2x2x8xi1>) -> tensor<32xi1>
  %g = stablehlo.bitcast_convert %f : (tensor<32xi1>) -> tensor<f32>
  %h = stablehlo.bitcast_convert %g : (tensor<f32>) -> tensor<32xi1>
  check.expect_eq %h, %f : tensor<32xi1>
  func.return
}
