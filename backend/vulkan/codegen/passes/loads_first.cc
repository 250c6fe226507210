#include "backend/vulkan/codegen/passes/loads_first.h"

#include <algorithm>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace VXLA_NAMESPACE::vulkan {
namespace {

constexpr int kMostWords = 32;

// Integers cost little, and so do constants.
bool IsCalculated(const Statement& statement) {
  constexpr std::string_view kCheap[] = {"uint", "int", "uint64_t", "index64_t", "bool"};
  return statement.value->by != MadeBy::kConstant && std::ranges::find(kCheap, statement.type) == std::end(kCheap);
}

class Mover {
 public:
  // Declarations that follow each other.
  void Add(std::span<Statement> run) {
    const auto last = std::find_if(run.rbegin(), run.rend(), std::mem_fn(&Statement::Loads));
    const auto before = static_cast<size_t>(run.rend() - last);  // how many, with the last load
    const std::vector<bool> first = FirstOf(run.first(before));
    bool moves = false;
    for (size_t i = 0; i < before; ++i) moves |= !first[i] && IsCalculated(run[i]);
    for (size_t i = 0; i < run.size(); ++i) {
      if (i == before || !moves) Release();
      if (moves && i < before && !first[i]) {
        waiting_.push_back(std::move(run[i]));
        continue;
      }
      if (!waiting_.empty() && run[i].Loads()) words_ += run[i].value->loaded->words();
      if (words_ > kMostWords) Release();
      out_.push_back(std::move(run[i]));
    }
    Release();
  }
  void AddAsIs(Statement statement) { out_.push_back(std::move(statement)); }
  Code Take() { return Code(std::move(out_)); }

 private:
  // Which are loads, or lead to the place of a later one.
  static std::vector<bool> FirstOf(std::span<const Statement> run) {
    std::vector<bool> first(run.size());
    std::set<std::string, std::less<>> needed;
    for (size_t i = run.size(); i-- > 0;) {
      first[i] = run[i].Loads() || needed.contains(run[i].name);
      if (first[i]) ForEachName(run[i].value->source(), [&](std::string_view name) { needed.emplace(name); });
    }
    return first;
  }
  void Release() {
    for (Statement& statement : waiting_) out_.push_back(std::move(statement));
    waiting_.clear();
    words_ = 0;
  }

  std::vector<Statement> out_, waiting_;
  int words_ = 0;  // of loads since the first that waits
};

}  // namespace

Code LoadsFirst(Code code) {
  std::vector<Statement> statements = code.TakeStatements();
  Mover mover;
  for (auto at = statements.begin(); at != statements.end();) {
    const auto end = std::find_if_not(at, statements.end(), std::mem_fn(&Statement::Declares));
    if (end != at) mover.Add({at, end});
    at = end;
    if (at != statements.end()) mover.AddAsIs(std::move(*at++));
  }
  return mover.Take();
}

}  // namespace VXLA_NAMESPACE::vulkan
