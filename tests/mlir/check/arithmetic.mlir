// The arith and shape dialects on tensors and numbers.

func.func @predicates_of_floats() {
  %a = arith.constant dense<[1.0, 2.0, 2.0, 0x7FC00000, -0.0, 0x7F800000]> : tensor<6xf32>
  %b = arith.constant dense<[2.0, 2.0, 1.0, 1.0, 0.0, 0x7FC00000]> : tensor<6xf32>
  %never = arith.cmpf false, %a, %b : tensor<6xf32>
  %oeq = arith.cmpf oeq, %a, %b : tensor<6xf32>
  %ogt = arith.cmpf ogt, %a, %b : tensor<6xf32>
  %oge = arith.cmpf oge, %a, %b : tensor<6xf32>
  %olt = arith.cmpf olt, %a, %b : tensor<6xf32>
  %ole = arith.cmpf ole, %a, %b : tensor<6xf32>
  %one = arith.cmpf one, %a, %b : tensor<6xf32>
  %ord = arith.cmpf ord, %a, %b : tensor<6xf32>
  %ueq = arith.cmpf ueq, %a, %b : tensor<6xf32>
  %ugt = arith.cmpf ugt, %a, %b : tensor<6xf32>
  %uge = arith.cmpf uge, %a, %b : tensor<6xf32>
  %ult = arith.cmpf ult, %a, %b : tensor<6xf32>
  %ule = arith.cmpf ule, %a, %b : tensor<6xf32>
  %une = arith.cmpf une, %a, %b : tensor<6xf32>
  %uno = arith.cmpf uno, %a, %b : tensor<6xf32>
  %always = arith.cmpf true, %a, %b : tensor<6xf32>
  check.expect_eq_const %never, dense<[false, false, false, false, false, false]> : tensor<6xi1>
  check.expect_eq_const %oeq, dense<[false, true, false, false, true, false]> : tensor<6xi1>
  check.expect_eq_const %ogt, dense<[false, false, true, false, false, false]> : tensor<6xi1>
  check.expect_eq_const %oge, dense<[false, true, true, false, true, false]> : tensor<6xi1>
  check.expect_eq_const %olt, dense<[true, false, false, false, false, false]> : tensor<6xi1>
  check.expect_eq_const %ole, dense<[true, true, false, false, true, false]> : tensor<6xi1>
  check.expect_eq_const %one, dense<[true, false, true, false, false, false]> : tensor<6xi1>
  check.expect_eq_const %ord, dense<[true, true, true, false, true, false]> : tensor<6xi1>
  check.expect_eq_const %ueq, dense<[false, true, false, true, true, true]> : tensor<6xi1>
  check.expect_eq_const %ugt, dense<[false, false, true, true, false, true]> : tensor<6xi1>
  check.expect_eq_const %uge, dense<[false, true, true, true, true, true]> : tensor<6xi1>
  check.expect_eq_const %ult, dense<[true, false, false, true, false, true]> : tensor<6xi1>
  check.expect_eq_const %ule, dense<[true, true, false, true, true, true]> : tensor<6xi1>
  check.expect_eq_const %une, dense<[true, false, true, true, false, true]> : tensor<6xi1>
  check.expect_eq_const %uno, dense<[false, false, false, true, false, true]> : tensor<6xi1>
  check.expect_eq_const %always, dense<[true, true, true, true, true, true]> : tensor<6xi1>
  func.return
}

// The sixteen and the ten by their numbers, as the generic form has them.
func.func @predicates_by_number() {
  %a = arith.constant dense<[1.0, 0x7FC00000]> : tensor<2xf32>
  %b = arith.constant dense<[1.0, 1.0]> : tensor<2xf32>
  %0 = "arith.cmpf"(%a, %b) {predicate = 8 : i64} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %1 = "arith.cmpf"(%a, %b) {predicate = 14 : i64} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  check.expect_eq_const %0, dense<[true, true]> : tensor<2xi1>
  check.expect_eq_const %1, dense<[false, true]> : tensor<2xi1>
  %i = arith.constant dense<[-1, 3]> : tensor<2xi32>
  %j = arith.constant dense<[1, 3]> : tensor<2xi32>
  %2 = "arith.cmpi"(%i, %j) {predicate = 2 : i64} : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  %3 = "arith.cmpi"(%i, %j) {predicate = 6 : i64} : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  check.expect_eq_const %2, dense<[true, false]> : tensor<2xi1>
  check.expect_eq_const %3, dense<[false, false]> : tensor<2xi1>
  func.return
}

// A signed truth value is 0 or -1.
func.func @predicates_of_integers() {
  %a = arith.constant dense<[-128, 127, 5, 0]> : tensor<4xi8>
  %b = arith.constant dense<[127, -128, 5, -1]> : tensor<4xi8>
  %slt = arith.cmpi slt, %a, %b : tensor<4xi8>
  %ult = arith.cmpi ult, %a, %b : tensor<4xi8>
  %sge = arith.cmpi sge, %a, %b : tensor<4xi8>
  %uge = arith.cmpi uge, %a, %b : tensor<4xi8>
  check.expect_eq_const %slt, dense<[true, false, false, false]> : tensor<4xi1>
  check.expect_eq_const %ult, dense<[false, true, false, true]> : tensor<4xi1>
  check.expect_eq_const %sge, dense<[false, true, true, true]> : tensor<4xi1>
  check.expect_eq_const %uge, dense<[true, false, true, false]> : tensor<4xi1>
  %p = arith.constant dense<[false, false, true, true]> : tensor<4xi1>
  %q = arith.constant dense<[false, true, false, true]> : tensor<4xi1>
  %pslt = arith.cmpi slt, %p, %q : tensor<4xi1>
  %pult = arith.cmpi ult, %p, %q : tensor<4xi1>
  check.expect_eq_const %pslt, dense<[false, false, true, false]> : tensor<4xi1>
  check.expect_eq_const %pult, dense<[false, true, false, false]> : tensor<4xi1>
  %sum = arith.addi %p, %q : tensor<4xi1>
  %difference = arith.subi %p, %q : tensor<4xi1>
  %product = arith.muli %p, %q : tensor<4xi1>
  check.expect_eq_const %sum, dense<[false, true, true, false]> : tensor<4xi1>
  check.expect_eq_const %difference, dense<[false, true, true, false]> : tensor<4xi1>
  check.expect_eq_const %product, dense<[false, false, false, true]> : tensor<4xi1>
  func.return
}

// Of a NaN and a number, maxnumf and minnumf give the number, maximumf and minimumf the NaN.
func.func @larger_and_smaller() {
  %a = arith.constant dense<[1.0, 0x7FC00000, 2.0, 0x7FC00000]> : tensor<4xf32>
  %b = arith.constant dense<[3.0, 4.0, 0x7FC00000, 0x7FC00000]> : tensor<4xf32>
  %maxnum = arith.maxnumf %a, %b : tensor<4xf32>
  %minnum = arith.minnumf %a, %b : tensor<4xf32>
  %maximum = arith.maximumf %a, %b : tensor<4xf32>
  %minimum = arith.minimumf %a, %b : tensor<4xf32>
  check.expect_eq_const %maxnum, dense<[3.0, 4.0, 2.0, 0x7FC00000]> : tensor<4xf32>
  check.expect_eq_const %minnum, dense<[1.0, 4.0, 2.0, 0x7FC00000]> : tensor<4xf32>
  check.expect_eq_const %maximum, dense<[3.0, 0x7FC00000, 0x7FC00000, 0x7FC00000]> : tensor<4xf32>
  check.expect_eq_const %minimum, dense<[1.0, 0x7FC00000, 0x7FC00000, 0x7FC00000]> : tensor<4xf32>
  %i = arith.constant dense<[-1, 5]> : tensor<2xi16>
  %j = arith.constant dense<[1, 5]> : tensor<2xi16>
  %maxs = arith.maxsi %i, %j : tensor<2xi16>
  %maxu = arith.maxui %i, %j : tensor<2xi16>
  %mins = arith.minsi %i, %j : tensor<2xi16>
  %minu = arith.minui %i, %j : tensor<2xi16>
  check.expect_eq_const %maxs, dense<[1, 5]> : tensor<2xi16>
  check.expect_eq_const %maxu, dense<[-1, 5]> : tensor<2xi16>
  check.expect_eq_const %mins, dense<[-1, 5]> : tensor<2xi16>
  check.expect_eq_const %minu, dense<[1, 5]> : tensor<2xi16>
  func.return
}

func.func @divisions() {
  %a = arith.constant dense<[7, -7, 7, -7, 6, -2147483648]> : tensor<6xi32>
  %b = arith.constant dense<[2, 2, -2, -2, 3, 3]> : tensor<6xi32>
  %floor = arith.floordivsi %a, %b : tensor<6xi32>
  %ceil = arith.ceildivsi %a, %b : tensor<6xi32>
  %ceilu = arith.ceildivui %a, %b : tensor<6xi32>
  %div = arith.divsi %a, %b : tensor<6xi32>
  %divu = arith.divui %a, %b : tensor<6xi32>
  %rem = arith.remsi %a, %b : tensor<6xi32>
  %remu = arith.remui %a, %b : tensor<6xi32>
  check.expect_eq_const %floor, dense<[3, -4, -4, 3, 2, -715827883]> : tensor<6xi32>
  check.expect_eq_const %ceil, dense<[4, -3, -3, 4, 2, -715827882]> : tensor<6xi32>
  check.expect_eq_const %ceilu, dense<[4, 2147483645, 1, 1, 2, 715827883]> : tensor<6xi32>
  check.expect_eq_const %div, dense<[3, -3, -3, 3, 2, -715827882]> : tensor<6xi32>
  check.expect_eq_const %divu, dense<[3, 2147483644, 0, 0, 2, 715827882]> : tensor<6xi32>
  check.expect_eq_const %rem, dense<[1, -1, 1, -1, 0, -2]> : tensor<6xi32>
  check.expect_eq_const %remu, dense<[1, 1, 7, -7, 0, 2]> : tensor<6xi32>
  func.return
}

func.func @conversions() {
  %p = arith.constant dense<[false, true]> : tensor<2xi1>
  %s = arith.extsi %p : tensor<2xi1> to tensor<2xi8>
  %u = arith.extui %p : tensor<2xi1> to tensor<2xi8>
  %f = arith.sitofp %p : tensor<2xi1> to tensor<2xf32>
  %g = arith.uitofp %p : tensor<2xi1> to tensor<2xf32>
  check.expect_eq_const %s, dense<[0, -1]> : tensor<2xi8>
  check.expect_eq_const %u, dense<[0, 1]> : tensor<2xi8>
  check.expect_eq_const %f, dense<[0.0, -1.0]> : tensor<2xf32>
  check.expect_eq_const %g, dense<[0.0, 1.0]> : tensor<2xf32>
  %i = arith.constant dense<[300, -1, 2, 255]> : tensor<4xi32>
  %odd = arith.trunci %i : tensor<4xi32> to tensor<4xi1>
  %low = arith.trunci %i : tensor<4xi32> to tensor<4xi8>
  %wide = arith.extui %low : tensor<4xi8> to tensor<4xi64>
  %float = arith.uitofp %i : tensor<4xi32> to tensor<4xf64>
  check.expect_eq_const %odd, dense<[false, true, false, true]> : tensor<4xi1>
  check.expect_eq_const %low, dense<[44, -1, 2, -1]> : tensor<4xi8>
  check.expect_eq_const %wide, dense<[44, 255, 2, 255]> : tensor<4xi64>
  check.expect_eq_const %float, dense<[300.0, 4294967295.0, 2.0, 255.0]> : tensor<4xf64>
  %n = arith.constant dense<[3.75, -2.5, 200.0]> : tensor<3xf32>
  %back = arith.fptosi %n : tensor<3xf32> to tensor<3xi32>
  %half = arith.truncf %n : tensor<3xf32> to tensor<3xf16>
  %bits = arith.bitcast %n : tensor<3xf32> to tensor<3xi32>
  %minus = arith.negf %n : tensor<3xf32>
  check.expect_eq_const %back, dense<[3, -2, 200]> : tensor<3xi32>
  check.expect_eq_const %half, dense<[3.75, -2.5, 200.0]> : tensor<3xf16>
  check.expect_eq_const %bits, dense<[1081081856, -1071644672, 1128792064]> : tensor<3xi32>
  check.expect_eq_const %minus, dense<[-3.75, 2.5, -200.0]> : tensor<3xf32>
  func.return
}

func.func @selects() {
  %p = arith.constant dense<[false, true, true]> : tensor<3xi1>
  %a = arith.constant dense<[1, 2, 3]> : tensor<3xi32>
  %b = arith.constant dense<[-1, -2, -3]> : tensor<3xi32>
  %one = arith.constant false
  %r = arith.select %p, %a, %b : tensor<3xi1>, tensor<3xi32>
  %whole = arith.select %one, %a, %b : tensor<3xi32>
  check.expect_eq_const %r, dense<[-1, 2, 3]> : tensor<3xi32>
  check.expect_eq_const %whole, dense<[-1, -2, -3]> : tensor<3xi32>
  func.return
}

func.func @shapes() {
  %a = stablehlo.constant dense<7> : tensor<3x5xi32>
  %c1 = arith.constant 1 : index
  %shape = shape.shape_of %a : tensor<3x5xi32> -> tensor<2xindex>
  %count = shape.num_elements %shape : tensor<2xindex> -> index
  %rank = shape.rank %shape : tensor<2xindex> -> index
  %extent = shape.get_extent %shape, %c1 : tensor<2xindex>, index -> index
  %dim = shape.dim %a, %c1 : tensor<3x5xi32>, index -> index
  %known = shape.const_shape [4, 2] : tensor<2xindex>
  %size = shape.index_to_size %count
  %same = shape.size_to_index %size : !shape.size
  %all = tensor.from_elements %count, %rank, %extent, %dim, %same : tensor<5xindex>
  %numbers = arith.index_cast %all : tensor<5xindex> to tensor<5xi64>
  %lists = arith.index_cast %known : tensor<2xindex> to tensor<2xi64>
  check.expect_eq_const %numbers, dense<[15, 2, 5, 5, 15]> : tensor<5xi64>
  check.expect_eq_const %lists, dense<[4, 2]> : tensor<2xi64>
  func.return
}
