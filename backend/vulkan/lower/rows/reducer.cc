#include "backend/vulkan/lower/rows/reducer.h"

#include <fmt/format.h>

#include "backend/vulkan/codegen/scalar_computation.h"
#include "core/numerics/reducer_facts.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

std::string Text(const Literal& literal) {
  return ConstantText(literal.shape().element_type(), literal.bytes().data());
}

}  // namespace

std::string WideAddFunction(const std::string& name) {
  return "void " + name + "(inout vec2 a0, vec2 b0) {\n  a0 = add_wide_f32(a0, b0);\n}\n";
}

Reducer WideSum() {
  Reducer reducer;
  reducer.widens = true;
  reducer.types = {ElementType::kC64};
  reducer.identity = {"vec2(0.0f, 0.0f)"};
  reducer.combine = WideAddFunction;
  return reducer;
}

std::string Widened(ElementType pair, const std::string& value) { return ConvertedText(RealPart(pair), pair, value); }

std::string Reducer::Taken(const std::string& value) const { return widens ? Widened(types[0], value) : value; }

std::string Reducer::Result(size_t leaf, ElementType type, const std::string& accumulator) const {
  if (widens) return ConvertedText(types[leaf], type, accumulator);
  return types[leaf] == type ? accumulator : Narrowed(type, accumulator);
}

Reducer ReadReducer(const Instruction& reduction) {
  if (reduction.notes().wide_sum) return WideSum();
  const std::optional<ElementType> pair = PairTypeOf(reduction);
  if (!pair) return ReadReducer(*reduction.called(0));
  Reducer reducer;
  reducer.widens = true;
  reducer.types = {*pair};
  reducer.identity = {Widened(*pair, Text(Literal::Scalar(RealPart(*pair), 1)))};
  const auto text = [pair = *pair](std::string_view function, std::string_view second) {
    return [=](const std::string& name) {
      return fmt::format("void {0}(inout {1} a0{2}) {{\n  a0 = {3}_{4}(a0{5});\n}}\n", name, CarrierType(pair),
                         second.empty() ? "" : fmt::format(", {} b0", CarrierType(pair)), function,
                         CarrierSuffix(RealPart(pair)), second);
    };
  };
  reducer.combine = text("multiply_pair", ", b0");
  reducer.take = text("multiply_into_pair", ", b0");
  reducer.order = text("ordered_pair", "");
  return reducer;
}

Reducer ReadReducer(const Computation& computation) {
  const ReducerFacts facts = FactsOfReducer(computation);
  Reducer reducer;
  reducer.types = facts.types;
  reducer.in_order = facts.in_order();
  reducer.commutes = facts.commutes && !reducer.in_order;
  reducer.combine = [&computation](const std::string& name) { return ReducerFunction(computation, name); };
  if (facts.identity) reducer.identity = {Text(*facts.identity)};
  if (facts.adds_floats) {
    reducer.combine = [type = facts.types[0]](const std::string& name) { return AddFunction(type, name); };
  }
  return reducer;
}

std::string JoinText(std::string_view function, const std::vector<std::string>& into,
                     const std::vector<std::string>& values, const std::string& holds) {
  const std::string call = fmt::format("{}({}, {});", function, fmt::join(into, ", "), fmt::join(values, ", "));
  if (holds.empty()) return call;
  std::string copy;
  for (size_t leaf = 0; leaf < into.size(); ++leaf) copy += fmt::format("{} = {}; ", into[leaf], values[leaf]);
  return fmt::format("if ({0}) {{ {1} }} else {{ {2}{0} = true; }}", holds, call, copy);
}

Status CheckReducer(const Computation& computation) { return CheckScalarComputation(computation); }

std::string AddFunction(ElementType type, const std::string& name) {
  const bool floats = (IsFloating(type) || IsComplex(type)) && !HasWideCarrier(type);
  return fmt::format("void {0}(inout {1} a0, {1} b0) {{\n  {2}{1} sum = {3};\n  a0 = sum;\n}}\n", name,
                     CarrierType(type), floats ? "precise " : "", SumText(type, "a0", "b0"));
}

}  // namespace VXLA_NAMESPACE::vulkan
