#include "core/library/library_call_reader.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace VXLA_NAMESPACE {
namespace {

ElementType TypeOfLetter(char letter) {
  if (letter == 's' || letter == 'd') return letter == 's' ? ElementType::kF32 : ElementType::kF64;
  return letter == 'c' ? ElementType::kC64 : ElementType::kC128;
}

// Where the value of a name begins in a backend_config; npos: nowhere.
size_t ConfigValueAt(std::string_view config, std::string_view name) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = config.find(name); at != std::string_view::npos; at = config.find(name, at + 1)) {
    size_t next = at + name.size();
    if ((at > 0 && is_word(config[at - 1])) || (next < config.size() && is_word(config[next]))) continue;
    return config.find_first_not_of("\\\"=: ", next);
  }
  return std::string_view::npos;
}

std::vector<int64_t> ColumnMajor(int64_t rank) {
  std::vector<int64_t> order{rank - 2, rank - 1};
  for (int64_t d = rank - 3; d >= 0; --d) order.push_back(d);
  return order;
}

}  // namespace

LibraryCallReader::LibraryCallReader(const Instruction& instruction, LibraryRoutine routine, char letter)
    : instruction_(instruction),
      name_(instruction.attributes<CustomCallAttributes>().custom_call_target),
      config_(instruction.common().backend_config.text),
      letter_(letter) {
  call_.routine = routine;
  call_.lapack = letter != 0;
}

Result<char> LibraryCallReader::Letter(std::string_view name, std::string_view choices) const {
  const std::optional<int64_t> value = Integer(name);
  if (!value) return Wrong("backend_config {} states no {}", config_.empty() ? "(none)" : config_, name);
  if (*value <= 0 || *value > 127 || choices.find(static_cast<char>(*value)) == std::string_view::npos)
    return Wrong("{} is {}, one of \"{}\" expected", name, *value, choices);
  return static_cast<char>(*value);
}

Status LibraryCallReader::Choose(std::string_view name, std::string_view choices, char letter, bool& is) const {
  VXLA_ASSIGN_OR_RETURN(const char given, Letter(name, choices));
  is = given == letter;
  return OkStatus();
}

// {name = 76 : ui8, ...} or {"name": 76, ...}
std::optional<int64_t> LibraryCallReader::Integer(std::string_view name) const {
  const size_t next = ConfigValueAt(config_, name);
  int64_t value = 0;
  if (next != std::string_view::npos &&
      std::from_chars(config_.data() + next, config_.data() + config_.size(), value).ec == std::errc())
    return value;
  return std::nullopt;
}

// {name = true, ...} or {"name": true, ...}
std::optional<bool> LibraryCallReader::Flag(std::string_view name) const {
  const size_t next = ConfigValueAt(config_, name);
  if (next == std::string_view::npos) return std::nullopt;
  for (const auto& [text, value] : {std::pair<std::string_view, bool>("true", true), {"false", false}}) {
    if (std::string_view(config_).substr(next, text.size()) == text) return value;
  }
  return std::nullopt;
}

Status LibraryCallReader::ExpectOperands(int count) const {
  if (instruction_.operand_count() == count) return OkStatus();
  return Wrong("{} operands, {} expected", instruction_.operand_count(), count);
}

Status LibraryCallReader::ExpectMatrices(int k, bool square) {
  const Shape& shape = Operand(k);
  if (!shape.IsArray() || shape.rank() < 2 || shape.IsDynamic())
    return Wrong("operand {} is {}, matrices of static sizes expected", k, shape.ToString());
  if (!IsComplex(shape.element_type()) && !IsFloating(shape.element_type()))
    return Wrong("operand {} is {}, floating-point or complex numbers expected", k, shape.ToString());
  if (letter_ != 0 && shape.element_type() != TypeOfLetter(letter_))
    return Wrong("operand {} is {}, elements of {} expected", k, shape.ToString(),
                 ElementTypeName(TypeOfLetter(letter_)));
  if (square && shape.dimension(shape.rank() - 1) != shape.dimension(shape.rank() - 2))
    return Wrong("operand {} is {}, square matrices expected", k, shape.ToString());
  return OkStatus();
}

Status LibraryCallReader::ExpectOperand(int k, ElementType type, const IntList& sizes) const {
  return Expect(Operand(k), fmt::format("operand {}", k), type, sizes);
}

Status LibraryCallReader::Expect(const Shape& shape, const std::string& what, ElementType type,
                                 const IntList& sizes) const {
  IntList wanted = batch_;
  wanted.insert(wanted.end(), sizes.begin(), sizes.end());
  if (shape.IsArray() && !shape.IsDynamic() && shape.element_type() == type &&
      std::ranges::equal(shape.dimensions(), wanted))
    return OkStatus();
  return Wrong("{} is {}, {} expected for {}", what, shape.ToString(), Shape(type, wanted).ToString(),
               Operand(TakesDiagonals() ? 3 : 0).ToString());
}

Status LibraryCallReader::ExpectResults(const std::vector<Leaf>& leaves) const {
  const Shape& shape = instruction_.shape();
  if (leaves.size() == 1 && shape.IsArray()) return Expect(shape, "the result", leaves[0].type, leaves[0].sizes);
  if (!shape.IsTuple() || shape.tuple_elements().size() != leaves.size())
    return Wrong("the result is {}, {} arrays expected", shape.ToString(), leaves.size());
  for (size_t k = 0; k < leaves.size(); ++k) {
    VXLA_RETURN_IF_ERROR(
        Expect(shape.tuple_elements()[k], fmt::format("result {}", k), leaves[k].type, leaves[k].sizes));
  }
  return OkStatus();
}

Status LibraryCallReader::CheckLayout(const Shape& shape, const std::string& what) const {
  if (!shape.IsArray() || shape.rank() < 2 || shape.ElementCount() < 2) return OkStatus();
  std::vector<int64_t> order = shape.MinorToMajor();
  std::vector<int64_t> columns, rows;
  for (int64_t d = shape.rank() - 1; d >= 0; --d) rows.push_back(d);
  columns = rows;
  std::swap(columns[0], columns[1]);
  // Dimensions of size 1 may stand anywhere.
  const auto trivial = [&](int64_t d) { return shape.dimension(d) == 1; };
  for (auto* list : {&order, &columns}) std::erase_if(*list, trivial);
  if (order == columns) return OkStatus();
  return Unsupported("custom-call {}: {}: {} is {}; JAX has matrices column by column (minor to major {})",
                     instruction_.name(), name_, what, shape.ToString(/*with_layout=*/true),
                     fmt::format("{}", fmt::join(ColumnMajor(shape.rank()), ",")))
      .At(instruction_.location());
}

Status LibraryCallReader::CheckLayouts() const {
  const auto& constraints = instruction_.attributes<CustomCallAttributes>().operand_layout_constraints;
  const bool vectors_first = TakesDiagonals();
  if ((letter_ == 0 && !vectors_first) || !constraints) return OkStatus();
  // Vectors and their batches are row by row, matrices are not: only the latter can be seen transposed.
  for (size_t k = 0; k < constraints->size(); ++k) {
    const bool all = call_.routine == LibraryRoutine::kTriangularSolve;
    const bool matrix = vectors_first ? k == 3 : k == 0 || all || (k == 2 && call_.routine == LibraryRoutine::kReflect);
    if (matrix) VXLA_RETURN_IF_ERROR(CheckLayout((*constraints)[k], fmt::format("operand {}", k)));
  }
  return OkStatus();
}

Status LibraryCallReader::CheckShapes() {
  if (call_.routine == LibraryRoutine::kIdentity) {
    VXLA_RETURN_IF_ERROR(ExpectOperands(1));
    if (Compatible(Operand(0), instruction_.shape())) return OkStatus();
    return Wrong("the result is {}, {} expected", instruction_.shape().ToString(), Operand(0).ToString());
  }
  switch (call_.routine) {
    case LibraryRoutine::kZeros:
      VXLA_RETURN_IF_ERROR(ExpectOperands(0));
      return instruction_.shape().IsArray()
                 ? OkStatus()
                 : Wrong("the result is {}, an array expected", instruction_.shape().ToString());
    case LibraryRoutine::kTopK:
      return ReadTopK();
    case LibraryRoutine::kApproxTopK:
      return ReadApproxTopK();
    case LibraryRoutine::kSparseProduct:
      return ReadSparseProduct();
    case LibraryRoutine::kBlockQuantize:
    case LibraryRoutine::kBlockDequantize:
    case LibraryRoutine::kBlockScaledDot:
      return ReadBlocks();
    default:
      return ReadMatrices();
  }
}

}  // namespace VXLA_NAMESPACE
