// Hook: a function that an algorithm calls and codegen writes. Those of its parameters that count something are
// variables of an index space of its own, bound to their names.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "backend/vulkan/codegen/value_writer.h"

namespace VXLA_NAMESPACE::vulkan {

class Hook {
 public:
  // Names, and how many values each takes. They are variables 0, 1 ... of the space.
  using Parameters = std::initializer_list<std::pair<const char*, int64_t>>;
  Hook(KernelBuilder& kernel, const FusionDescription& body, BufferMap& buffers, Parameters parameters)
      : writer(kernel, body, buffers, space) {
    for (const auto& [name, size] : parameters) writer.NewVariable(name, size);
  }
  Hook(const Hook&) = delete;
  Hook& operator=(const Hook&) = delete;

  IndexExpression at(int parameter) const { return space.Variable(parameter); }
  // Neighbour j of the group of so many that a parameter counts.
  IndexExpression Nth(int parameter, int64_t width, int64_t j) const {
    return space.Add(space.Scale(space.Variable(parameter), width), {{}, j});
  }
  // What has been written becomes the function of which `head` is all before its braces.
  void Define(const std::string& head) { writer.kernel().Define(head, writer.Take()); }
  // The same of a function that gives this value.
  void Return(const std::string& head, const std::string& value) {
    writer.Line("return " + value + ";");
    Define(head);
  }

  IndexSpace space;
  ValueWriter writer;
};

}  // namespace VXLA_NAMESPACE::vulkan
