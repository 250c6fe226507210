// Attention as one kernel (attention/forward.comp).
#include <fmt/format.h>

#include <optional>

#include "backend/vulkan/codegen/scalar_computation.h"
#include "backend/vulkan/lower/product.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

int64_t GroupsOfTile(int64_t count, int64_t tile) { return (count + tile - 1) / tile; }

class AttentionWriter {
 public:
  AttentionWriter(const LowerContext& context, const FusionDescription& body, BufferMap& buffers,
                  const AttentionShape& shape)
      : context_(context), body_(body), attention_(*body.attention), buffers_(buffers), shape_(shape) {}

  Step Write() const {
    const Attention& a = attention_;
    const int64_t row_tiles = GroupsOfTile(a.rows, shape_.rows()), groups = a.batches * row_tiles;
    KernelBuilder kernel(context_.facts);
    for (int64_t value : {groups, row_tiles, a.rows, a.keys}) kernel.Param(static_cast<uint32_t>(value));
    WriteDefines(kernel);
    WriteLoads(kernel);
    WriteLogit(kernel);
    WriteStore(kernel);
    Step step = kernel.Finish(StepName(body_), "attention/forward.comp", {shape_.lanes, shape_.lanes_y, 1},
                              GroupGrid(context_.facts, groups));
    step.flop = 2 * a.batches * a.rows * a.keys * (a.depth + a.columns);
    return step;
  }

 private:
  struct Function {
    IndexSpace space;
    AttentionPlace at;
    std::optional<ValueWriter> writer;
  };
  void Begin(Function& f, KernelBuilder& kernel) const {
    const std::pair<const char*, int64_t> variables[] = {{"batch", attention_.batches},
                                                         {"row", attention_.rows},
                                                         {"key", attention_.keys},
                                                         {"depth", attention_.depth},
                                                         {"column", attention_.columns}};
    for (const auto& [name, size] : variables) f.space.AddVariable(size);
    f.at = {f.space.Variable(0), f.space.Variable(1), f.space.Variable(2), f.space.Variable(3), f.space.Variable(4)};
    f.writer.emplace(kernel, body_, buffers_, f.space);
    for (int k = 0; k < 5; ++k) f.writer->Bind(k, variables[k].first);
  }

  void WriteDefines(KernelBuilder& kernel) const {
    const int64_t lanes = shape_.lanes;
    kernel.Append(fmt::format("#define X {}u\n#define Y {}u\n#define TM {}u\n#define TC {}u\n#define TN {}u\n", lanes,
                              shape_.lanes_y, shape_.tile_rows, shape_.tile_keys,
                              GroupsOfTile(attention_.columns, lanes)));
    kernel.Append(fmt::format("#define DEPTH {}u\n#define COLUMNS {}u\n#define CAUSAL {}\n", attention_.depth,
                              attention_.columns, attention_.causal ? 1 : 0));
    kernel.Append(fmt::format(
        "#define MULTIPLY_ADD(sum, a, b) {}\n",
        context_.facts.fused_multiply_add
            ? "sum = fma(a, b, sum)"
            : "{ precise float product_ = (a) * (b); precise float next_ = sum + product_; sum = next_; }"));
  }

  static std::string AsF32(const Instruction& instruction, const std::string& value) {
    const ElementType type = instruction.shape().element_type();
    return type == ElementType::kF32 ? value : ConvertedText(type, ElementType::kF32, value);
  }

  // float <head> { return the operand's value; }
  void WriteLoad(KernelBuilder& kernel, const char* head, const Instruction& operand,
                 MultiIndex AttentionIndices::*index) const {
    Function f;
    Begin(f, kernel);
    const std::string value = f.writer->Value(operand, IndicesOf(attention_, f.space, f.at).*index);
    f.writer->Line(fmt::format("return {};", AsF32(operand, value)));
    kernel.Append(fmt::format("float {} {{\n{}}}\n", head, f.writer->Take()));
  }
  void WriteLoads(KernelBuilder& kernel) const {
    const Instruction &scores = *attention_.scores, &product = *attention_.product;
    WriteLoad(kernel, "load_query(uint batch, uint row, uint depth)", *scores.operand(attention_.queries),
              &AttentionIndices::query);
    WriteLoad(kernel, "load_key(uint batch, uint key, uint depth)", *scores.operand(1 - attention_.queries),
              &AttentionIndices::key);
    WriteLoad(kernel, "load_value(uint batch, uint key, uint column)", *product.operand(1 - attention_.weights),
              &AttentionIndices::value);
  }

  void WriteLogit(KernelBuilder& kernel) const {
    const ElementType type = attention_.scores->shape().element_type();
    Function f;
    Begin(f, kernel);
    const AttentionIndices indices = IndicesOf(attention_, f.space, f.at);
    f.writer->Override(*attention_.scores, indices.scores,
                       type == ElementType::kF32 ? "score" : ConvertedText(ElementType::kF32, type, "score"));
    const std::string value = f.writer->Value(*attention_.logits, indices.logits);
    f.writer->Line(fmt::format("return {};", AsF32(*attention_.logits, value)));
    kernel.Append(fmt::format("float logit(uint batch, uint row, uint key, float score) {{\n{}}}\n", f.writer->Take()));
    if (attention_.causal) WriteMask(kernel);
  }

  void WriteMask(KernelBuilder& kernel) const {
    Function f;
    Begin(f, kernel);
    const CausalMask& mask = *attention_.causal;
    const std::string value = f.writer->Value(*mask.compare, CausalIndexOf(attention_, f.space, f.at));
    f.writer->Line(fmt::format("return {};", value));
    kernel.Append(fmt::format("bool sees(uint batch, uint row, uint key) {{\n{}}}\n", f.writer->Take()));
    const auto hidden = static_cast<float>(mask.hidden);
    kernel.Append(fmt::format("#define HIDDEN {}\n", ConstantText(ElementType::kF32, &hidden)));
  }

  void WriteStore(KernelBuilder& kernel) const {
    const Instruction& product = *attention_.product;
    const ElementType type = product.shape().element_type();
    Function f;
    Begin(f, kernel);
    const MultiIndex index = f.space.Delinearize(ResultIndex(attention_, f.space, f.at), product.shape().dimensions());
    const std::vector<const Instruction*> moves = MovesBehind(attention_);
    const Shape& last = moves.empty() ? product.shape() : moves.back()->shape();
    const IndexExpression linear = f.space.Linearize(IndexBehind(moves, f.space, index), last.dimensions());
    f.writer->Override(product, index,
                       type == ElementType::kF32 ? "value" : ConvertedText(ElementType::kF32, type, "value"));
    std::vector<std::string> values;
    for (const Instruction* root : body_.roots)
      values.push_back(f.writer->Value(*root, f.space.Delinearize(linear, root->shape().dimensions())));
    for (size_t leaf = 0; leaf < values.size(); ++leaf) {
      const int k = kernel.AddBuffer(body_.roots[leaf]->shape().element_type(), Access::kWrite,
                                     buffers_.SliceOf(*body_.instruction, static_cast<int>(leaf)));
      f.writer->Line(kernel.Store(k, f.writer->Index(linear), values[leaf]));
    }
    kernel.Append(
        fmt::format("void store(uint batch, uint row, uint column, float value) {{\n{}}}\n", f.writer->Take()));
  }

  const LowerContext& context_;
  const FusionDescription& body_;
  const Attention& attention_;
  BufferMap& buffers_;
  const AttentionShape shape_;
};

}  // namespace

Status CanLowerAttention(const LowerContext& context, const FusionDescription& body) {
  const Attention& a = *body.attention;
  VXLA_RETURN_IF_ERROR(CheckProductRoots(body));
  if (TuneAttention(context.facts, a.rows, a.depth, a.columns).lanes > 0) return OkStatus();
  return Unsupported("{}: attention over {} and {} dimensions needs more than this device's {} bytes of shared memory",
                     body.instruction->name(), a.depth, a.columns, context.facts.max_shared_bytes);
}

Result<std::vector<Step>> LowerAttention(const LowerContext& context, const FusionDescription& body,
                                         BufferMap& buffers) {
  const Attention& a = *body.attention;
  const AttentionShape shape = TuneAttention(context.facts, a.rows, a.depth, a.columns);
  return std::vector{AttentionWriter(context, body, buffers, shape).Write()};
}

}  // namespace VXLA_NAMESPACE::vulkan
