// Computation and Module: a computation owns instructions in an order where operands come first; a module owns
// computations in an order where callees come first, with the entry among them.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/host/ranges.h"
#include "core/ir/instruction.h"

namespace VXLA_NAMESPACE {

class Module;
class SideEffects;

class Computation {
 public:
  explicit Computation(std::string name);
  Computation(const Computation&) = delete;
  ~Computation();

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  Module* module() const { return module_; }

  const std::list<std::unique_ptr<Instruction>>& instructions() const { return instructions_; }
  // Appends. An empty name becomes "<opcode>"; a name that is taken gets a suffix ".1", ".2" ...
  // Operands and called computations must already belong to this computation and its module.
  Instruction* Add(std::unique_ptr<Instruction> instruction);
  Instruction* Add(Opcode opcode, Shape shape, std::vector<Instruction*> operands = {},
                   Attributes attributes = NoAttributes{}, std::vector<Computation*> called = {},
                   std::string name = {});
  // Gives it another name, with a suffix if that is taken.
  void Rename(Instruction* instruction, std::string name);
  // Inserts before `position` instead of at the end. Constant time, as Remove.
  Instruction* InsertBefore(const Instruction* position, std::unique_ptr<Instruction> instruction);
  // CHECKs that nothing uses it or is ordered after it.
  void Remove(Instruction* instruction);
  // Every user of `old` (and the root) uses `replacement` instead; `old` stays, unused and without control edges:
  // `replacement` has them now. So `replacement` is new, or `old` has no control predecessors: one that ran before
  // `old` might run before them too.
  void ReplaceAllUses(Instruction* old, Instruction* replacement);
  // Removes what the root does not reach, but parameters and side effects stay. Returns how many went.
  int RemoveDead();
  int RemoveDead(SideEffects& effects);  // of many computations: each callee is looked at once
  // Sorts so that operands and control predecessors come first, keeping the present order where it can.
  void SortTopologically();

  Instruction* root() const { return root_; }
  void set_root(Instruction* root) { root_ = root; }
  Instruction* parameter(int64_t number) const { return parameters_.at(number); }
  const std::vector<Instruction*>& parameters() const { return parameters_; }  // by number

  const std::string& execution_thread() const { return execution_thread_; }
  void set_execution_thread(std::string thread) { execution_thread_ = std::move(thread); }

 private:
  friend class Module;
  std::string UniqueName(std::string wanted);
  void Adopt(Instruction* instruction);
  // Nothing that it refers to knows it any more.
  void Detach(Instruction* instruction);

  std::string name_;
  Module* module_ = nullptr;
  std::list<std::unique_ptr<Instruction>> instructions_;
  std::vector<Instruction*> parameters_;
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, int> next_suffix_;
  Instruction* root_ = nullptr;
  std::string execution_thread_;
  Mark mark_ = Mark::kNew;  // of the module's latest walk
};

// The header's attributes.
struct ModuleAttributes {
  bool is_scheduled = false;
  int64_t replica_count = 1, num_partitions = 1;
  std::vector<Aliasing> input_output_alias;
  std::vector<std::pair<int64_t, IntList>> buffer_donor;
  std::optional<std::pair<std::vector<Shape>, Shape>> entry_computation_layout;
  RawText frontend_attributes;
  // Attributes a runner has no use for, as written: alias_passthrough_params, allow_spmd_..., stack-frame tables.
  std::vector<std::pair<std::string, RawText>> others;
  RawText stack_frames;
  friend bool operator==(const ModuleAttributes&, const ModuleAttributes&) = default;
};

class Module {
 public:
  explicit Module(std::string name);
  Module(const Module&) = delete;
  ~Module();

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  const std::vector<std::unique_ptr<Computation>>& computations() const { return computations_; }
  // Appends; a name that is taken gets a suffix.
  Computation* AddComputation(std::string name);
  // Appends one that was built apart from the module.
  Computation* AddComputation(std::unique_ptr<Computation> computation);
  void Rename(Computation* computation, std::string name);
  // Puts callees before their callers, keeping the present order where it can.
  void SortComputations();
  // Computations that the entry does not reach go.
  void RemoveUnusedComputations();
  Computation* entry() const { return entry_; }
  void set_entry(Computation* entry) { entry_ = entry; }
  const ModuleAttributes& attributes() const { return attributes_; }
  ModuleAttributes& mutable_attributes() { return attributes_; }

  std::unique_ptr<Module> Clone() const;

 private:
  std::string name_;
  std::vector<std::unique_ptr<Computation>> computations_;
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, int> next_suffix_;
  Computation* entry_ = nullptr;
  ModuleAttributes attributes_;
};

// Those of all computations.
inline auto EachInstruction(const Module& module) {
  return Joined(
      module.computations(), [](const auto& computation) -> const auto& { return computation->instructions(); });
}

// Copies `source`'s instructions into `target` (of the same or another module), parameters replaced by `arguments` if
// given (else cloned), called computations mapped by `map_called`. Returns the copy of the root; does not set target's
// root.
Instruction* CloneInto(const Computation& source, Computation& target, std::span<Instruction* const> arguments,
                       const std::function<Computation*(Computation*)>& map_called);

// Computations call one another no deeper than kMaxCallDepth (core/limits.h). Callees must come before their callers.
Status CheckCallDepth(const Module& module);

// These and what they call, however deep, once each.
std::vector<const Computation*> CalledDeep(std::span<Computation* const> called);

bool HasSideEffect(const Instruction& instruction);
// Infeeds, outfeeds, and what is sent to and received from a host.
bool IsHostTransfer(const Instruction& instruction);

// Whether an instruction, or one in what it calls however deep, has a property. Each computation is looked at once, so
// that many questions cost one walk: the module must not change meanwhile.
class DeepProperty {
 public:
  using Has = bool (*)(const Instruction&);
  explicit DeepProperty(Has has) : has_(has) {}
  bool Of(const Instruction& instruction);

 private:
  Has has_;
  std::unordered_map<const Computation*, bool> known_;
};

// HasSideEffect of many instructions.
class SideEffects : public DeepProperty {
 public:
  SideEffects();
};

// "computation/instruction": unique in the module.
std::string PathOf(const Instruction& instruction);

}  // namespace VXLA_NAMESPACE
