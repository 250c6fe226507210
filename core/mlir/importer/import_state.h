// What the importer's parts share.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "core/builder/builder.h"
#include "core/ir/module.h"
#include "core/mlir/importer/check_program.h"
#include "core/mlir/importer/importer.h"
#include "core/mlir/ir.h"
#include "core/passes/base/expansion.h"
#include "core/passes/sharding/sharding_graph.h"

namespace VXLA_NAMESPACE::mlir {

// The attributes of an instruction of `opcode` that stands for the operation.
Result<Attributes> AttributesFor(Opcode opcode, const Operation& operation, const Program& program);
Result<std::vector<PrecisionLevel>> PrecisionOf(const Operation& operation);
Result<GatherAttributes> GatherOf(const Operation& operation);
Result<ScatterAttributes> ScatterOf(const Operation& operation);
Result<Window> ReduceWindowOf(const Operation& operation, int rank);
Result<ReplicaGroups> ReplicaGroupsOf(const Operation& operation);
Result<std::optional<int64_t>> ChannelOf(const Operation& operation);
Result<CustomCallAttributes> CustomCallOf(const Operation& operation, const Program& program);
// Layouts as custom calls state them: lists of minor-to-major orders.
Result<std::vector<Shape>> WithLayouts(const Operation& operation, std::string_view name, std::vector<Shape> shapes);

// Operations of CHLO that are composed of others. An op without a builder: not one of them.
struct ChloOperation {
  std::string_view name;  // without its dialect
  std::optional<IntList> broadcast_dimensions = {};
  CompareAttributes compare = {};
};
XlaOp Compose(const ChloOperation& operation, const std::vector<XlaOp>& x);
// a `direction` b of complex numbers: by the real parts, where these are equal by the imaginary ones.
XlaOp ComplexOrder(XlaOp a, XlaOp b, ComparisonDirection direction);

// Instructions and computations that nothing uses.
void RemoveUnused(Module& module);
// The function that a program begins with.
Result<const Operation*> EntryOf(const Program& program);
// A name of the text that HLO text can have too; empty for numbers.
std::string InstructionName(std::string_view name);
// Its name, and how many devices it is for.
Status SetModuleAttributes(const Program& program, Module& module);
// What an operation is called where it is a symbol.
std::string SymbolOf(const Operation& operation);
// Whether a value of this shape can have the type: what the type leaves open may be anything.
bool Fits(const Type& type, const Shape& shape);

using Instructions = std::vector<Instruction*>;

// What places and sizes are computed in.
inline constexpr ElementType kPlace = ElementType::kS64;

class CheckBuilder;  // import_checks.cc
class Importer;

// A computation under construction, with what each value is there.
struct Frame : Expansion {
  Frame(Importer& import, std::string name) : Frame(import, std::make_unique<Computation>(std::move(name))) {}

  Importer& importer;
  std::unique_ptr<Computation> computation;
  std::unordered_map<ValueId, Instruction*> values;

 private:
  Frame(Importer& import, std::unique_ptr<Computation> made);
};

// Regions that are done for all elements at once (import_lanes.cc). A value that differs from element to element has
// the axes along which it does in front of its own dimensions.
using Axes = std::vector<int>;  // of Lanes::sizes, in order
struct Lanes {
  // A branch around what is imported that runs for all elements: those that take it are those for which the predicate
  // is so.
  struct Branch {
    const Frame* frame;
    ValueId predicate;
    bool when;
  };
  IntList sizes;                           // of the axes of the open regions, outermost first
  std::unordered_map<ValueId, Axes> axes;  // of values that differ
  std::vector<Branch> branches;
  int applied = 0;  // regions on scalars that are being imported
};

// The loops that scf.foralls are here, by the text's number.
struct Foralls {
  struct Loop {
    int64_t number = 0;
    bool begins = false;  // its first update is still to come
  };
  std::unordered_map<int64_t, Loop> by_number;
  int64_t count = 0;
};

// What a program says of how its arrays lie on devices (import_shardings.cc), while the importer makes the program of
// whole arrays. It is one class because all of it becomes one statement, of which the program of a device is made at
// the end: arguments, constraints, groups and manual computations add to it wherever they stand, and read their axes
// alike, without those that are manual there.
class ShardingImporter {
 public:
  explicit ShardingImporter(Importer& importer) : importer_(importer) {}

  // Of a text that does not say how many there are.
  void set_partitions(int64_t partitions) { partitions_ = partitions; }
  void set_lists_arrays(bool lists) { stated_.lists_arrays = lists; }
  int64_t partitions() const { return partitions_; }
  bool IsPartitioned() const;
  int manual_depth() const { return manual_depth_; }
  Status ReadEntry(const Operation& function);
  Status ConstrainResults(Frame& frame, const Operation& operation);
  Status ImportConstraint(Frame& frame, const Operation& operation, Instructions& operands);
  Status ImportGroup(Frame& frame, const Operation& operation, Instructions& operands);
  Result<bool> ImportCall(Frame& frame, const Operation& operation, const Instructions& operands,
                          std::string_view target);
  Status ImportManualComputation(Frame& frame, const Operation& operation, Instructions& operands);
  // The program of a device, once all of the program of whole arrays is there.
  Result<std::unique_ptr<Module>> Partitioned(std::unique_ptr<Module> module);

  const StatedShardings& stated() const { return stated_; }
  const std::vector<Sharding>& answers() const { return answers_; }
  const std::string& arrays() const { return arrays_; }
  const std::vector<Sharding>& of_parameters() const { return parameter_shardings_; }
  const std::vector<Sharding>& of_results() const { return result_shardings_; }

 private:
  Result<std::vector<MeshPart>> ReadAxes(const Operation& operation, const DeviceMesh& mesh, const Attribute& axes,
                                         int64_t& total) const;
  Result<ArraySharding> ReadSharding(const Operation& operation, const Attribute& said, const Shape& shape);
  Result<std::optional<ArraySharding>> ReadOldSharding(const Operation& operation, const Attribute& said,
                                                       const Shape& shape);
  Result<std::optional<ArraySharding>> SaidOf(const Operation& operation, const Attribute* attributes,
                                              const Shape& shape, std::string_view what);
  Status CheckDevices(const Operation& operation, const DeviceMesh& mesh, const std::vector<MeshPart>& parts,
                      std::string_view what) const;
  void Mention(const std::shared_ptr<const DeviceMesh>& mesh);
  Instruction* Constrained(Frame& frame, Instruction* value, ArraySharding sharding);
  Result<Shape> ManualTile(const Operation& operation, const ArraySharding& sharding,
                           const std::vector<std::string>& axes, const Shape& whole) const;
  Result<std::vector<std::string>> ManualAxes(const Operation& operation, const DeviceMesh* mesh) const;
  Result<std::vector<ArraySharding>> ManualShardings(const Operation& operation, std::string_view list,
                                                     const std::vector<ValueId>& values);
  Status Ask(Frame& frame, const Operation& operation, const Instructions& operands);
  Status ImportBodyHere(Frame& frame, const Operation& operation, const Block& block, const Instructions& operands);
  Status CheckManualResults(const Operation& operation, const StatedShardings::Manual& said,
                            const Instructions& results, const std::vector<Shape>& wholes) const;

  Importer& importer_;
  StatedShardings stated_;
  std::map<int64_t, Shape> group_shapes_;  // of the arrays of each sharding group
  std::string arrays_;
  int64_t partitions_ = 1;
  std::vector<Sharding> parameter_shardings_, result_shardings_, answers_;
  int manual_depth_ = 0;                  // of what is written for a device rather than for whole arrays
  std::vector<std::string> manual_axes_;  // there
};

// One program on its way into a module: which functions are called, what is known of values, and what is said of the
// whole program: checks, devices. It is one class because a question about data ends all of that at once, wherever it
// comes up (KnownOrAsk). What each operation becomes are functions of a Frame (import_operations.h).
class Importer {
 public:
  explicit Importer(const Program& program) : program_(program), module_(std::make_unique<Module>("")) {}
  // Refines: all sizes follow from the facts.
  Importer(const Program& program, const ProgramFacts& facts, const FoldInstruction& fold);
  Result<std::unique_ptr<Module>> Run();
  // Where the widest shape that each value has is kept, by value, while the program is refined.
  void set_largest(std::vector<std::optional<Shape>>* largest) { largest_ = largest; }
  Result<SpecializedModule> RunRefined();

  // What operations ask for.
  const Program& program() const { return program_; }
  Module& module() { return *module_; }
  const SourceLocation& location() const { return location_; }
  void set_location(SourceLocation location) { location_ = location; }
  Lanes& lanes() { return lanes_; }
  Foralls& foralls() { return foralls_; }
  // Keeps a computation whose place another took: facts are known of its instructions.
  void Retire(std::unique_ptr<Computation> computation) { retired_.push_back(std::move(computation)); }
  Status CheckType(const Operation& operation, const Type& type) const;
  Result<Computation*> ImportFunction(const std::string& name, SourceLocation use);
  Result<Instructions> InlineFunction(Frame& frame, const std::string& name, SourceLocation use,
                                      const Instructions& arguments);
  Shape ResultShape(const Operation& operation) const;

  // Refinement (import_dynamic.cc).
  bool refines() const { return facts_ != nullptr; }
  // The program with the shapes that values have here.
  const Program& typed() const { return refines() ? actual_ : program_; }
  void SetActual(ValueId value, const Shape& shape);
  // Sizes of `stated` that are unknown are those of the operation's first operand.
  Shape Completed(const Operation& operation, const Shape& stated) const;
  // The value where it is a constant, or computed of constants; null else.
  const Literal* Known(const Instruction* value);
  // The same, or else the question that the import ends with.
  Result<const Literal*> KnownOrAsk(const Operation& operation, const Instruction* value);
  // A region's value is one from around it.
  void NoteCaptured(const Instruction* inside, const Instruction* outside) { captured_from_[inside] = outside; }
  // Arguments of loops' blocks that keep the constant they begin with.
  std::unordered_map<ValueId, const Instruction*>& invariants() { return invariant_; }
  void KeepInvariants(const Operation& operation, const Instructions& init);
  int& trips() { return trips_; }  // that are written out
  Status ImportOr(const std::function<Status()>& first, const std::function<Status()>& otherwise);

  // Functions of checks (import_checks.cc), which become several modules.
  CheckBuilder* checks() const { return checks_; }  // null: of a program
  void set_checks(CheckBuilder* checks) { checks_ = checks; }
  Status CollectFunctions();
  const Operation& function(const std::string& name) const { return *functions_.at(name); }
  void Begin(std::string_view module);
  std::unique_ptr<Module> Take() { return std::move(module_); }
  void set_entry_frame(Frame* frame) { entry_frame_ = frame; }
  // What is known of instructions: others may come to lie where they lay.
  void ForgetValues();
  std::optional<SpecializedModule>& question() { return question_; }

  ShardingImporter& shardings() { return shardings_; }

 private:
  Status SetEntryAttributes(const Operation& function);
  void AddAliasing(size_t argument, int64_t result);
  void AddDonor(size_t argument);
  // A function that is called, which is open from here on.
  Result<const Operation*> Enter(const std::string& name, SourceLocation use);
  Result<Computation*> BuildFunction(const Operation& function);
  Status CheckResultTypes(const Operation& function, const Instructions& results) const;

  Result<Shape> ArgumentShape(const Operation& function, size_t index, const Type& stated) const;
  bool Folds(const Instruction& value) const;
  bool IsOfEntry(const Instruction& value) const;
  bool DependsOnSmallParameters(const Instruction* value, const Instruction** unknown, int depth) const;
  const Instruction* Outside(const Instruction* value) const;
  const Instruction* ToAsk(const Instruction* value, int depth) const;

  const Program& program_;
  Program actual_;  // its values only
  std::vector<std::optional<Shape>>* largest_ = nullptr;
  size_t next_answer_ = 0;
  Frame* entry_frame_ = nullptr;
  ShardingImporter shardings_{*this};
  CheckBuilder* checks_ = nullptr;
  std::optional<SpecializedModule> question_;
  std::vector<std::unique_ptr<Computation>> retired_;
  std::unordered_map<const Instruction*, Literal> known_;
  std::unordered_set<const Instruction*> unknown_;
  std::unordered_map<const Instruction*, const Instruction*> captured_from_;  // what a region takes from around it
  std::unordered_map<ValueId, const Instruction*> invariant_;
  int64_t inlined_ = 0;
  int trips_ = 0;
  Lanes lanes_;
  Foralls foralls_;
  std::unique_ptr<Module> module_;
  const ProgramFacts* facts_ = nullptr;  // null: all sizes are in the text
  FoldInstruction fold_;
  std::unordered_map<std::string, const Operation*> functions_;
  std::unordered_map<std::string, Computation*> imported_;
  std::set<std::string> open_;  // functions that are being imported: a call of one of them recurses
  SourceLocation location_;
};

inline Frame::Frame(Importer& import, std::unique_ptr<Computation> made)
    : Expansion(*made, import.location()), importer(import), computation(std::move(made)) {}

}  // namespace VXLA_NAMESPACE::mlir
