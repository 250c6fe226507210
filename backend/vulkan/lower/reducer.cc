#include "backend/vulkan/lower/reducer.h"

#include "backend/vulkan/codegen/scalar_computation.h"
#include "backend/vulkan/lower/row_program.h"
#include "core/reducer_facts.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

std::string Text(const Literal& literal) {
  return ConstantText(literal.shape().element_type(), literal.bytes().data());
}

}  // namespace

std::string WideAddFunction(const std::string& name) {
  return "void " + name + "(inout vec2 a0, vec2 b0) {\n  a0 = add_wide_f32(a0, b0);\n}\n";
}

Reducer ReadReducer(const Computation& computation, bool wide) {
  const ReducerFacts facts = FactsOfReducer(computation);
  Reducer reducer;
  if (wide) {
    reducer.types = {ElementType::kC64};
    reducer.identity = {"vec2(0.0f, 0.0f)"};
    reducer.combine = WideAddFunction;
    return reducer;
  }
  reducer.types = facts.types;
  reducer.commutes = facts.commutes;
  reducer.combine = [&computation](const std::string& name) { return ReducerFunction(computation, name); };
  if (facts.identity) reducer.identity = {Text(*facts.identity)};
  if (facts.adds_floats) {
    reducer.combine = [type = facts.types[0]](const std::string& name) { return AddFunction(type, name); };
  }
  return reducer;
}

Status CheckReducer(const Computation& computation) { return CheckScalarComputation(computation); }

}  // namespace VXLA_NAMESPACE::vulkan
