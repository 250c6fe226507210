#include <cstdio>
#include <vector>
#include <vxla/vxla.hpp>

int main() {
  vxla::XlaBuilder builder("fused");
  const vxla::Shape shape(vxla::ElementType::kF32, {3});
  auto x = vxla::Parameter(&builder, 0, shape), y = vxla::Parameter(&builder, 1, shape);
  auto program = builder.Build(vxla::Tanh(vxla::Add(x, vxla::Mul(y, y))));  // or vxla::Parse(hlo_text)
  if (!program.ok()) return std::printf("%s\n", program.status().message().c_str()), 2;
  const std::vector<float> a{1, 2, 3}, b{0.5, -1, 2};
  const std::vector<vxla::Literal> arguments{vxla::Literal::FromVector<float>(shape, a),
                                             vxla::Literal::FromVector<float>(shape, b)};
  auto client = vxla::OpenClient();  // the best device; "vulkan:1" or a part of a name is another one
  if (!client.ok()) return std::printf("%s\n", client.status().message().c_str()), 3;
  auto check = vxla::CompareWithCpu(**client, program->module(), arguments);
  if (!check.ok()) return std::printf("%s\n", check.status().message().c_str()), 2;
  std::printf("%s", check->ToString().c_str());
  return check->agrees() ? 0 : 1;
}
