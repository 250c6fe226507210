// Operations as programs of others: CHLO's that are no operations here, and what is ordered of complex numbers.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/builder/broadcast.h"
#include "core/builder/math.h"
#include "core/mlir/importer/import_state.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

XlaOp Constant(XlaOp like, double value) { return ScalarLike(like, value); }

// The sum of (q + k)^-x over k >= 0, by its first ten terms and the Euler-Maclaurin formula with twelve (Cephes).
// NaN below x = 1, and below q = 0 unless x is whole; infinite at x = 1 and, of even x, at q = 0, -1, -2 ...
XlaOp HurwitzZeta(XlaOp x, XlaOp q) {
  constexpr double kCoefficients[] = {12.0,
                                      -720.0,
                                      30240.0,
                                      -1209600.0,
                                      47900160.0,
                                      -1.8924375803183791606e9,
                                      7.47242496e10,
                                      -2.950130727918164224e12,
                                      1.1646782814350067249e14,
                                      -4.5979787224074726105e15,
                                      1.8152105401943546773e17,
                                      -7.1661652561756670113e18};
  XlaOp a = q, power = Pow(q, Neg(x)), sum = power;
  for (int i = 0; i < 9; ++i) {
    a = Add(a, Constant(a, 1));
    power = Pow(a, Neg(x));
    sum = Add(sum, power);
  }
  a = Add(a, Constant(a, 1));
  power = Pow(a, Neg(x));
  const XlaOp integral = Add(sum, Div(Mul(power, a), Sub(x, Constant(x, 1))));
  const XlaOp inverse_square = Reciprocal(Square(a));
  XlaOp horner = ZerosLike(a);
  for (int j = 11; j >= 1; --j) {
    const XlaOp factor = Mul(Add(x, Constant(x, 2 * j - 1)), Add(x, Constant(x, 2 * j)));
    horner = Mul(Mul(factor, inverse_square), Add(horner, Constant(a, 1 / kCoefficients[j])));
  }
  const XlaOp tail = Mul(Div(x, a), Add(Constant(a, 1 / kCoefficients[0]), horner));
  const XlaOp whole = Add(integral, Mul(power, Add(Constant(a, 0.5), tail)));
  const bool wide = q.shape().element_type() == ElementType::kF64;
  const double epsilon = wide ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  XlaOp result = Select(Lt(Abs(power), Mul(Abs(sum), Constant(a, epsilon))), sum, whole);
  const XlaOp nan = FullLike(x, std::numeric_limits<double>::quiet_NaN());
  const XlaOp infinity = FullLike(x, std::numeric_limits<double>::infinity());
  result = Select(Lt(x, Constant(x, 1)), nan, result);
  const XlaOp low = Le(q, Constant(q, 0));
  result = Select(And(low, Ne(x, Floor(x))), nan, result);
  const XlaOp even = Eq(Rem(x, Constant(x, 2)), Constant(x, 0));
  result = Select(And(low, Eq(q, Floor(q))), Select(even, infinity, nan), result);
  return Select(Eq(x, Constant(x, 1)), infinity, result);
}

// The n-th derivative of digamma: (-1)^(n+1) n! zeta(n + 1, x); NaN unless n is 0, 1, 2 ...
XlaOp PolygammaProgram(XlaOp n, XlaOp x) {
  const XlaOp next = Add(n, Constant(n, 1));
  const XlaOp sign = Sub(Mul(Rem(n, Constant(n, 2)), Constant(n, 2)), Constant(n, 1));
  const XlaOp value = Mul(Mul(sign, Exp(Lgamma(next))), HurwitzZeta(next, x));
  const XlaOp nan = FullLike(n, std::numeric_limits<double>::quiet_NaN());
  const XlaOp whole = And(Eq(n, Floor(n)), Ge(n, Constant(n, 0)));
  return Select(whole, Select(Eq(n, Constant(n, 0)), Digamma(x), value), nan);
}

// The number beside x on the way to y: bits count up from zero in both signs.
XlaOp NextAfter(XlaOp x, XlaOp y) {
  const int width = BitWidth(x.shape().element_type());
  const ElementType type = width == 64   ? ElementType::kU64
                           : width == 32 ? ElementType::kU32
                           : width == 16 ? ElementType::kU16
                                         : ElementType::kU8;
  XlaBuilder* const builder = x.builder();
  const auto constant = [&](uint64_t value) {
    return Broadcast(ConstantLiteral(builder, Literal::ScalarInt(type, static_cast<int64_t>(value))),
                     IntList(x.shape().dimensions().begin(), x.shape().dimensions().end()));
  };
  const XlaOp sign_mask = constant(uint64_t{1} << (width - 1)), one = constant(1);
  const XlaOp from = BitcastConvertType(x, type), to = BitcastConvertType(y, type);
  const XlaOp from_sign = And(from, sign_mask), to_sign = And(to, sign_mask);
  const XlaOp from_size = And(from, Not(sign_mask)), to_size = And(to, Not(sign_mask));
  const XlaOp zero = constant(0);
  // Towards y the size grows if y lies farther out on the same side, and shrinks otherwise.
  const XlaOp shrinks = Or(Ne(from_sign, to_sign), Gt(from_size, to_size));
  XlaOp result = Select(shrinks, Sub(from, one), Add(from, one));
  result = Select(Eq(from_size, zero), Or(to_sign, one), result);  // from 0: the least number of y's sign
  result = Select(Eq(x, y), to, result);
  const XlaOp nan = Add(x, y);
  return Select(Or(IsNan(x), IsNan(y)), nan, BitcastConvertType(result, x.shape().element_type()));
}

// The sum of c_k T_(n-k)(y / 2) with half of the last one (Clenshaw).
XlaOp ChebyshevSeries(XlaOp y, std::span<const double> coefficients) {
  XlaOp b0 = ZerosLike(y), b1 = ZerosLike(y), b2 = ZerosLike(y);
  for (const double c : coefficients) {
    b2 = b1;
    b1 = b0;
    b0 = Add(Sub(Mul(y, b1), b2), Constant(y, c));
  }
  return Mul(Sub(b0, b2), Constant(y, 0.5));
}

// exp(-|x|) I1(x): Cephes' series for up to 8 and beyond; f32 needs their last terms only.
XlaOp BesselI1e(XlaOp x) {
  constexpr double kNear[] = {
      2.7779141127610464e-18, -2.111421214358166e-17,  1.5536319577362005e-16, -1.1055969477353862e-15,
      7.6006842947354077e-15, -5.0421855047279118e-14, 3.2237933659455748e-13, -1.9839743977649436e-12,
      1.1736186298890901e-11, -6.6634897235020271e-11, 3.6255902815521172e-10, -1.8872497517228294e-09,
      9.3815373864957726e-09, -4.4450591287963281e-08, 2.0032947535521353e-07, -8.5687202646954547e-07,
      3.4702513081376785e-06, -1.3273163656039436e-05, 4.7815651075500542e-05, -0.00016176081582589674,
      0.00051228595616857576, -0.0015135724506312532,  0.0041564229443128882,  -0.010564084894626197,
      0.024726449030626516,   -0.052945981208094989,   0.10264365868984709,    -0.17641651835783406,
      0.25258718644363365};
  constexpr double kFar[] = {
      7.5172963108421052e-18,  4.4143483230717077e-18,  -4.6503053684893586e-17, -3.2095259219934238e-17,
      2.96262899764595e-16,    3.3082023109209285e-16,  -1.8803547755107825e-15, -3.8144030724370075e-15,
      1.0420276984128802e-14,  4.272440016711951e-14,   -2.1015418427726643e-14, -4.0835511110921974e-13,
      -7.1985517762459084e-13, 2.0356285441470896e-12,  1.4125807436613782e-11,  3.2526035830154884e-11,
      -1.8974958123505413e-11, -5.5897434621965838e-10, -3.835380385964237e-09,  -2.6314688468895196e-08,
      -2.5122362378702088e-07, -3.8825648088776906e-06, -0.00011058893876262371, -0.0097610974913614687,
      0.77857623501828011};
  const bool wide = x.shape().element_type() == ElementType::kF64;
  const std::span<const double> near = wide ? std::span(kNear) : std::span(kNear).last(17);
  const std::span<const double> far = wide ? std::span(kFar) : std::span(kFar).last(7);
  const XlaOp size = Abs(x);
  const XlaOp low = Mul(size, ChebyshevSeries(Sub(Mul(size, Constant(x, 0.5)), Constant(x, 2)), near));
  const XlaOp high = Div(ChebyshevSeries(Sub(Div(Constant(x, 32), size), Constant(x, 2)), far), Sqrt(size));
  return Mul(Sign(x), Select(Le(size, Constant(x, 8)), low, high));
}

XlaOp Is(std::string_view name, XlaOp x) {
  return name == "is_inf" ? IsInf(x) : name == "is_pos_inf" ? IsPosInf(x) : IsNegInf(x);
}

// Without broadcast_dimensions, the operand of lower rank stands to the right.
IntList BroadcastDimensions(const ChloOperation& operation, int a, int b) {
  if (operation.broadcast_dimensions) return *operation.broadcast_dimensions;
  IntList dimensions;
  for (int i = std::abs(a - b); a != b && i < std::max(a, b); ++i) dimensions.push_back(i);
  return dimensions;
}

// Both operands in the dimensions that they have together.
XlaOp Spread(XlaOp x, XlaOp other, const IntList& dimensions) {
  return Select(FullLike(Eq(x, other, dimensions), 1), Add(x, ZerosLike(other), dimensions),
                Add(x, ZerosLike(other), dimensions));
}

// The last dimensions are neighbours, as in numpy; those of size 1 are spread.
XlaOp BroadcastSelect(const std::vector<XlaOp>& x) {
  IntList sizes;  // from the last
  for (const XlaOp& operand : x) {
    const auto dimensions = operand.shape().dimensions();
    if (dimensions.size() > sizes.size()) sizes.resize(dimensions.size(), 1);
    for (size_t d = 0; d < dimensions.size(); ++d) {
      int64_t& size = sizes[d];
      if (size == 1) size = dimensions[dimensions.size() - 1 - d];
    }
  }
  std::ranges::reverse(sizes);
  const auto spread = [&](XlaOp operand) {
    IntList places(static_cast<size_t>(operand.shape().rank()));
    std::iota(places.begin(), places.end(), static_cast<int64_t>(sizes.size() - places.size()));
    return std::ranges::equal(operand.shape().dimensions(), sizes) ? operand : BroadcastInDim(operand, sizes, places);
  };
  return Select(spread(x[0]), spread(x[1]), spread(x[2]));
}

// w of which asin(z) = complex(atan2(re z, re w), sign(im z) * im w), from asin(z): re w is re z / tan(re asin(z)),
// which at re z = 0 tends to sqrt(1 + im z ^ 2).
XlaOp AsinAcosKernel(XlaOp z) {
  const XlaOp asin = Asin(z), x = Real(z);
  const XlaOp angle = Real(asin);
  const XlaOp root = Abs(Mul(Div(x, Sin(angle)), Cos(angle)));
  const XlaOp at_zero = Sqrt(Add(Mul(Imag(z), Imag(z)), ScalarLike(x, 1)));
  return Complex(Select(Eq(x, ZerosLike(x)), at_zero, root), Abs(Imag(asin)));
}

}  // namespace

XlaOp Compose(const ChloOperation& operation, const std::vector<XlaOp>& x) {
  const std::string_view name = operation.name;
  if (x.size() == 1) {
    const ElementType type = x[0].shape().element_type();
    if (name == "bessel_i1e" && IsNarrowFloat(type))
      return ConvertElementType(BesselI1e(ConvertElementType(x[0], ElementType::kF32)), type);
    if (name == "bessel_i1e") return BesselI1e(x[0]);
    if (name == "_asin_acos_kernel") return AsinAcosKernel(x[0]);
    if (name == "square") return Square(x[0]);
    if (name == "conj") return Conj(x[0]);
    if (name == "is_inf" || name == "is_pos_inf" || name == "is_neg_inf") return Is(name, x[0]);
  }
  if (x.size() == 3 && name == "broadcast_select") return BroadcastSelect(x);
  if (x.size() != 2) return {};
  const bool narrow = IsNarrowFloat(x[0].shape().element_type());
  const auto wide = [&](XlaOp value) { return narrow ? ConvertElementType(value, ElementType::kF32) : value; };
  const auto back = [&](XlaOp value) {
    return narrow ? ConvertElementType(value, x[0].shape().element_type()) : value;
  };
  if (name == "zeta") return back(HurwitzZeta(wide(x[0]), wide(x[1])));
  if (name == "polygamma") return back(PolygammaProgram(wide(x[0]), wide(x[1])));
  if (name == "next_after") return NextAfter(x[0], x[1]);
  const IntList dimensions = BroadcastDimensions(operation, x[0].shape().rank(), x[1].shape().rank());
  if (name == "broadcast_compare")
    return Compare(x[0], x[1], operation.compare.direction, dimensions, operation.compare.type);
  if (name == "broadcast_zeta" || name == "broadcast_polygamma" || name == "broadcast_next_after") {
    const XlaOp a = Spread(x[0], x[1], dimensions), b = Spread(x[1], x[0], dimensions);
    return Compose({name.substr(name.find('_') + 1)}, {a, b});
  }
  const std::string_view stem = name.starts_with("broadcast_") ? name.substr(10) : "";
  const std::optional<Opcode> opcode = ParseOpcode(stem, &OpcodeFacts::stablehlo_text);
  if (!opcode || !IsElementwise(*opcode) || FactsOf(*opcode).operand_count != 2) return {};
  return EmitBinary(*opcode, x[0], x[1], dimensions);
}

XlaOp ComplexOrder(XlaOp a, XlaOp b, ComparisonDirection direction) {
  const XlaOp a_real = Real(a), b_real = Real(b);
  const ComparisonDirection strict = direction == ComparisonDirection::kGe || direction == ComparisonDirection::kGt
                                         ? ComparisonDirection::kGt
                                         : ComparisonDirection::kLt;
  return Select(Eq(a_real, b_real), Compare(Imag(a), Imag(b), direction), Compare(a_real, b_real, strict));
}

}  // namespace VXLA_NAMESPACE::mlir
