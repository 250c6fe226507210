// What the importer's parts share.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "core/builder/builder.h"
#include "core/mlir/importer/check_program.h"
#include "core/mlir/importer/importer.h"
#include "core/mlir/ir.h"
#include "core/mlir/operation_reader.h"
#include "core/module.h"
#include "core/passes/sharding/sharding_graph.h"

namespace VXLA_NAMESPACE::mlir {

// The attributes of an instruction of `opcode` that stands for the operation.
Result<Attributes> AttributesFor(Opcode opcode, const Operation& operation, const Program& program);
Result<std::vector<PrecisionLevel>> PrecisionOf(const OperationReader& reader, const Operation& operation);
Result<GatherAttributes> GatherOf(const OperationReader& reader);
Result<ScatterAttributes> ScatterOf(const OperationReader& reader);
Result<Window> ReduceWindowOf(const OperationReader& reader, int rank);
Result<ReplicaGroups> ReplicaGroupsOf(const OperationReader& reader);
Result<std::optional<int64_t>> ChannelOf(const OperationReader& reader, const Operation& operation);
Result<CustomCallAttributes> CustomCallOf(const Operation& operation, const Program& program);
// Layouts as custom calls state them: lists of minor-to-major orders.
Result<std::vector<Shape>> WithLayouts(const OperationReader& reader, std::string_view name, std::vector<Shape> shapes);

// Operations that are composed of others: CHLO's, and those whose meaning HLO does not have. Null: not one of them.
struct ProgramOperation {
  std::string_view name;  // without its dialect
  std::vector<Shape> operands, results;
  IntList broadcast_dimensions;
  bool has_broadcast_dimensions = false;
  ComparisonDirection direction = ComparisonDirection::kEq;
  ComparisonType compare_type = ComparisonType::kDefault;
};
Result<std::optional<XlaComputation>> ChloProgram(const ProgramOperation& operation);
// Ordered comparisons of complex numbers: by their real parts, then by their imaginary ones.
Result<XlaComputation> ComplexOrderProgram(const Shape& shape, ComparisonDirection direction);

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

inline IntList SizesOf(const Shape& shape) { return {shape.dimensions().begin(), shape.dimensions().end()}; }
// What places and sizes are computed in.
inline constexpr ElementType kPlace = ElementType::kS64;

class Importer {
 public:
  explicit Importer(const Program& program) : program_(program), module_(std::make_unique<Module>("")) {}
  // Refines: all sizes follow from the facts.
  Importer(const Program& program, const ProgramFacts& facts, const FoldInstruction& fold);
  Result<std::unique_ptr<Module>> Run();
  // Of a text that does not say how many there are.
  void set_partitions(int64_t partitions) { partitions_ = partitions; }
  // Where the widest shape that each value has is kept, by value, while the program is refined.
  void set_largest(std::vector<std::optional<Shape>>* largest) { largest_ = largest; }
  // What Run's program of a device was made of; null: it is the program.
  const Module* whole() const { return whole_.get(); }
  const StatedShardings& stated() const { return stated_; }
  Result<CheckFunction> RunChecks(const std::string& name);
  Result<SpecializedModule> RunRefined();
  const std::vector<Sharding>& answers() const { return answers_; }
  const std::vector<Sharding>& parameter_shardings() const { return parameter_shardings_; }
  const std::vector<Sharding>& result_shardings() const { return result_shardings_; }

 private:
  // A computation under construction, with what each value is there.
  struct Frame {
    std::unique_ptr<Computation> computation;
    std::unordered_map<ValueId, Instruction*> values;
  };
  using Handler = Status (Importer::*)(Frame&, const Operation&);

  // Functions and blocks (importer.cc).
  Status CollectFunctions();
  Status SetEntryAttributes(const Operation& function);
  void AddAliasing(size_t argument, int64_t result);
  void AddDonor(size_t argument);
  // A function that is called, which is open from here on.
  Result<const Operation*> Enter(const std::string& name, SourceLocation use);
  Result<Computation*> ImportFunction(const std::string& name, SourceLocation use);
  Result<Computation*> BuildFunction(const Operation& function);
  Result<const Block*> OnlyBlock(const Operation& operation, size_t region) const;
  Result<std::vector<Instruction*>> RunBlock(Frame& frame, const Block& block);
  Status CheckResultTypes(const Operation& function, const std::vector<Instruction*>& results) const;
  Status ImportOperation(Frame& frame, const Operation& operation);
  Status ImportUnsharded(Frame& frame, const Operation& operation);
  Status ImportPlain(Frame& frame, const Operation& operation, Opcode opcode);
  Result<Instruction*> Lookup(Frame& frame, const Operation& operation, ValueId value);
  Result<std::vector<Instruction*>> Operands(Frame& frame, const Operation& operation);
  // An error unless there are so many, and of results, where given, so many.
  Result<std::vector<Instruction*>> Operands(Frame& frame, const Operation& operation, size_t count,
                                             std::optional<size_t> results = {});
  Status CheckType(const Operation& operation, const Type& type) const;
  Status CheckBuffers(const Operation& operation) const;
  static Handler HandlerOf(std::string_view name);

  // Instructions.
  Instruction* Add(Frame& frame, Opcode opcode, Shape shape, std::vector<Instruction*> operands = {},
                   Attributes attributes = NoAttributes{}, std::vector<Computation*> called = {});
  // With its shape inferred; `stated` gives what the operands leave open.
  Result<Instruction*> AddInferred(Frame& frame, const Operation& operation, Opcode opcode,
                                   std::vector<Instruction*> operands, Attributes attributes = NoAttributes{},
                                   std::vector<Computation*> called = {}, Shape stated = {});
  Instruction* Element(Frame& frame, Instruction* tuple, int64_t index);
  Instruction* TupleOrOne(Frame& frame, std::vector<Instruction*> values);
  // The results of an operation are those of an instruction: it, or the elements of its tuple.
  Status BindResults(Frame& frame, const Operation& operation, Instruction* instruction);
  Status BindValues(Frame& frame, const Operation& operation, const std::vector<Instruction*>& values);
  Shape ResultShape(const Operation& operation) const;
  Result<std::vector<Instruction*>> Inline(Frame& frame, const XlaComputation& program,
                                           const std::vector<Instruction*>& arguments);

  // Refinement (import_dynamic.cc).
  bool refines() const { return facts_ != nullptr; }
  // The program with the shapes that values have here.
  const Program& typed() const { return refines() ? actual_ : program_; }
  void SetActual(ValueId value, const Shape& shape);
  Result<Shape> ArgumentShape(const Operation& function, size_t index, const Type& stated) const;
  // Sizes of `stated` that are unknown are those of the operation's first operand.
  Shape Completed(const Operation& operation, const Shape& stated) const;
  // The value where it is a constant, or computed of constants; null else.
  const Literal* Known(const Instruction* value);
  bool Folds(const Instruction& value) const;
  bool IsOfEntry(const Instruction& value) const;
  bool DependsOnSmallParameters(const Instruction* value, const Instruction** unknown, int depth) const;
  // The same, or else the question that the import ends with.
  Result<const Literal*> KnownOrAsk(const Operation& operation, const Instruction* value);
  const Instruction* Outside(const Instruction* value) const;
  const Instruction* ToAsk(const Instruction* value, int depth) const;
  // A result that is known becomes a constant.
  Instruction* Folded(Frame& frame, Instruction* value);
  Result<std::vector<Instruction*>> InlineFunction(Frame& frame, const std::string& name, SourceLocation use,
                                                   const std::vector<Instruction*>& arguments);
  Status CheckSizes(Frame& frame, const Operation& operation, size_t operand, const Shape& stated);
  Result<Shape> DynamicShapeOf(Frame& frame, const Operation& operation, size_t operand);
  Result<Shape> ShapeFromOperand(Frame& frame, const Operation& operation, size_t operand, ElementType type);
  Status ImportGetDimensionSize(Frame& frame, const Operation& operation);
  Status ImportSetDimensionSize(Frame& frame, const Operation& operation);
  Status ImportShapeAssertion(Frame& frame, const Operation& operation);
  Result<bool> ImportDynamicCustomCall(Frame& frame, const Operation& operation);
  Result<bool> ImportMovingSlice(Frame& frame, const Operation& operation, const std::vector<Instruction*>& operands);
  // Starts that are one value each, of an array of them.
  Result<std::vector<Instruction*>> Scalars(Frame& frame, const Operation& operation, Instruction* list);
  Status ImportDynamicReduceWindow(Frame& frame, const Operation& operation, size_t arrays);
  Status ImportDynamicTopK(Frame& frame, const Operation& operation);
  Status ImportDynamicRngBits(Frame& frame, const Operation& operation);
  Result<bool> ImportKnownBranch(Frame& frame, const Operation& operation, const Instruction* index);
  void KeepInvariants(const Operation& operation, const std::vector<Instruction*>& init);

  // The tensor dialect (import_tensor.cc), arith and shape (import_arith.cc).
  static Handler TensorHandlerOf(std::string_view name);
  struct SliceLists {
    std::vector<Instruction*> offsets;
    IntList starts, sizes, strides, extents;  // starts: where known, else 0; extents: from first to last element
    bool all_known = true, strided = false;
  };
  Instruction* IndexConstant(Frame& frame, const IntList& values, bool scalar);
  Instruction* Reshaped(Frame& frame, Instruction* value, const IntList& sizes);
  static void MarkChecked(Instruction* instruction, const Operation& operation);
  // Of a loop whose updates are parallel: from here on its number is new; what it starts with; one of the updates.
  void BeginForall(const Operation& operation, bool written_out);
  void MarkForall(Instruction* start, const Operation& operation);
  void MarkParallel(Instruction* instruction, const Operation& operation, const IntList& strides);
  Result<int64_t> KnownIndex(const Operation& operation, const Instruction* value);
  Result<Shape> SizedBy(Frame& frame, const Operation& operation, size_t next);
  Result<std::vector<Instruction*>> MixedList(Frame& frame, const Operation& operation, std::string_view name,
                                              size_t& next);
  Result<IntList> KnownList(const Operation& operation, std::span<Instruction* const> values);
  Instruction* Everywhere(Frame& frame, Instruction* value, const Shape& shape);
  Result<Instruction*> PaddedMask(Frame& frame, const Operation& operation, const Shape& source,
                                  const PadAttributes& attributes);
  Status CheckIndices(const Operation& operation, const Shape& shape, std::span<Instruction* const> indices);
  Result<SliceLists> SliceListsOf(Frame& frame, const Operation& operation, size_t next, const Shape& shape);
  Result<IntList> IndexedDimensions(const Operation& operation, std::string_view name, const Shape& shape,
                                    const Shape& indices) const;
  Status ImportTensorBitcast(Frame& frame, const Operation& operation);
  Status ImportReassociation(Frame& frame, const Operation& operation);
  Status ImportExpansion(Frame& frame, const Operation& operation, Instruction* operand,
                         const std::vector<IntList>& groups, size_t rank);
  Status ImportTensorReshape(Frame& frame, const Operation& operation);
  Status ImportConcat(Frame& frame, const Operation& operation);
  Status ImportDim(Frame& frame, const Operation& operation);
  Status ImportRank(Frame& frame, const Operation& operation);
  Status ImportEmpty(Frame& frame, const Operation& operation);
  Status ImportSplat(Frame& frame, const Operation& operation);
  Status ImportFromElements(Frame& frame, const Operation& operation);
  Status ImportTensorPad(Frame& frame, const Operation& operation);
  Status ImportExtract(Frame& frame, const Operation& operation);
  Status ImportInsert(Frame& frame, const Operation& operation);
  Status ImportExtractSlice(Frame& frame, const Operation& operation);
  Status ImportInsertSlice(Frame& frame, const Operation& operation);
  Status ImportTensorGather(Frame& frame, const Operation& operation);
  Status ImportTensorScatter(Frame& frame, const Operation& operation);
  Status ImportTensorCast(Frame& frame, const Operation& operation);
  Instruction* Converted(Frame& frame, Instruction* value, ElementType type);
  Instruction* Bits(Frame& frame, Instruction* value, ElementType type);
  Instruction* Filled(Frame& frame, const Shape& like, int64_t value);
  Result<Instruction*> Compared(Frame& frame, const Operation& operation, Instruction* a, Instruction* b,
                                ComparisonDirection direction);
  Status ImportArith(Frame& frame, const Operation& operation);
  Status ImportArithConstant(Frame& frame, const Operation& operation);
  Status ImportArithCompare(Frame& frame, const Operation& operation, std::vector<Instruction*> operands);
  Status ImportUnordered(Frame& frame, const Operation& operation, std::string_view predicate,
                         const std::vector<Instruction*>& operands);
  Status ImportArithRounded(Frame& frame, const Operation& operation, std::vector<Instruction*> operands);
  Status ImportArithConversion(Frame& frame, const Operation& operation, Instruction* operand);
  Status ImportShapeDialect(Frame& frame, const Operation& operation);

  // Results with bounds, whose sizes are operands (import_bounded.cc).
  struct Padding {
    Instruction *low, *high, *interior;
  };
  bool IsBounded(const Operation& operation, size_t result = 0) const;
  Result<bool> ImportBoundedAssertion(Frame& frame, const Operation& operation);
  bool AreKnown(const std::vector<Instruction*>& operands, size_t first);
  Instruction* ElementAt(Frame& frame, Instruction* list, int64_t i);
  Instruction* AsSize(Frame& frame, Instruction* size);
  Instruction* ZeroOf(Frame& frame, ElementType type);
  Instruction* Computed(Frame& frame, Opcode opcode, Instruction* a, Instruction* b);
  Instruction* Extent(Frame& frame, Instruction* value, int64_t dimension);
  Result<Instruction*> WithSizes(Frame& frame, const Operation& operation, Instruction* value,
                                 const std::vector<Instruction*>& sizes);
  std::vector<Instruction*> BoundedSizes(Frame& frame, const Shape& stated, Instruction* list);
  Result<Instruction*> AtBound(Frame& frame, const Operation& operation, Instruction* value, int dimension,
                               int64_t bound);
  Result<Instruction*> WithAgreedSize(Frame& frame, const Operation& operation, Instruction* value, int dimension,
                                      Instruction* size, Instruction* stated);
  Status BindSized(Frame& frame, const Operation& operation, Opcode opcode, std::vector<Instruction*> operands,
                   Attributes attributes, size_t list);
  Result<Instruction*> TakeAlong(Frame& frame, const Operation& operation, Instruction* value, int64_t dimension,
                                 Instruction* places);
  Result<Instruction*> PadAlong(Frame& frame, const Operation& operation, Instruction* value, Instruction* padding,
                                int64_t dimension, int64_t bound, const Padding& amount, Instruction** size);
  Padding PaddingAt(Frame& frame, const std::vector<Instruction*>& lists, int64_t dimension);
  Status ImportBoundedReshape(Frame& frame, const Operation& operation, const std::vector<Instruction*>& operands);
  Status ImportBoundedPad(Frame& frame, const Operation& operation, const std::vector<Instruction*>& operands);
  Status ImportBoundedSlice(Frame& frame, const Operation& operation, const std::vector<Instruction*>& operands);
  Status ImportBoundedGather(Frame& frame, const Operation& operation, const std::vector<Instruction*>& operands,
                             GatherAttributes attributes);
  Status ImportBoundedConvolution(Frame& frame, Operation convolution, Instruction* padding);
  Status ImportBoundedBroadcast(Frame& frame, const Operation& operation, const std::vector<Instruction*>& operands,
                                const IntList& dimensions);
  // Custom calls with such results (import_bounded_calls.cc).
  Status ImportBoundedTopK(Frame& frame, const Operation& operation, const std::vector<Instruction*>& operands);
  std::vector<Instruction*> SplitOf(Frame& frame, const std::vector<Instruction*>& sizes);
  struct Draw {
    Instruction *places, *calls;
    int64_t row;
  };
  Draw DrawFor(Frame& frame, const Shape& stated, const std::vector<Instruction*>& sizes, bool pairs);
  Result<Instruction*> StateAfter(Frame& frame, const Operation& operation, Instruction* state, Instruction* calls,
                                  bool carries);
  Status ImportBoundedRngBits(Frame& frame, const Operation& operation, const std::vector<Instruction*>& operands,
                              RngBitGeneratorAttributes attributes);
  struct WindowNumbers {
    Instruction *size, *stride, *base_dilation, *window_dilation, *low, *high;
  };
  WindowNumbers WindowNumbersAt(Frame& frame, const std::vector<Instruction*>& lists, int64_t d);
  Result<Instruction*> WindowMembers(Frame& frame, const Operation& operation, const WindowNumbers& w, int64_t windows,
                                     Instruction* value, int64_t dimension, Instruction** count);
  // [windows..., elements...], a dimension whose windows are its elements once: the sizes of that, where dimensions of
  // the operand and their elements are in it, which elements are in which windows, and how many windows there are.
  struct Windows {
    IntList dims, places, elements;
    Instruction* members = nullptr;
    std::vector<Instruction*> sizes;
  };
  Result<std::vector<Instruction*>> WindowLists(Frame& frame, const Operation& operation,
                                                const std::vector<Instruction*>& operands, const Computation& reducer);
  Result<Windows> WindowsOf(Frame& frame, const Operation& operation, Instruction* array,
                            const std::vector<Instruction*>& lists);
  Status ImportBoundedReduceWindow(Frame& frame, const Operation& operation, std::vector<Instruction*> operands,
                                   Computation* reducer);

  // Regions that are done for all elements at once (import_lanes.cc). A value that differs from element to element has
  // the axes along which it does in front of its own dimensions.
  using Axes = std::vector<int>;  // of lane_sizes_, in order
  const Axes& AxesOf(ValueId value) const;
  Axes AxesOf(const Operation& operation) const;  // of its operands together
  Shape OwnShape(ValueId value, const Instruction* instruction) const;
  // With these axes, of which it has some, and `own` as its dimensions where it is one for all of them.
  Instruction* Spread(Frame& frame, Instruction* value, const Axes& has, const Axes& axes,
                      std::span<const int64_t> own);
  // The operands, each with the axes of all.
  void Align(Frame& frame, const Operation& operation, std::vector<Instruction*>& values);
  // Binds what has the axes of the operands together.
  Status BindLanes(Frame& frame, const Operation& operation, Instruction* value);
  Status BindLanes(Frame& frame, ValueId result, const Operation& operation, Instruction* value, Axes axes);
  bool HasLanes(const Operation& operation) const;  // an operand, or a value that its regions use
  // A region with an index for each dimension of `shape`; a scalar if all its elements are the same.
  Result<Instruction*> RunLanes(Frame& frame, const Operation& operation, const Shape& shape, Axes* outer = nullptr);
  Status ImportGenerate(Frame& frame, const Operation& operation);
  bool InLaneBranch(const Frame& frame) const;
  // Whether an element takes the branches around; null: all do. `axes`: along which it differs.
  Instruction* TakesBranches(Frame& frame, Axes& axes);
  Status ImportLaneExtract(Frame& frame, const Operation& operation, const std::vector<Instruction*>& operands,
                           bool guarded);
  Status ImportLaneBranches(Frame& frame, const Operation& operation);

  // Regions (import_regions.cc).
  std::vector<ValueId> FreeValues(const Region& region) const;
  bool Sinks(const Instruction* value) const;
  Instruction* Sink(Frame& frame, const Instruction* value);
  Instruction* SinkExpression(Frame& frame, const Instruction* value);
  // How a region on scalars takes one from around it that is no constant: not at all, as one more parameter, as a pair
  // like the values of a comparator, or as one more value that is accumulated.
  enum class Takes : uint8_t { kConstants, kOnce, kPairs, kAccumulated };
  Result<Computation*> ImportScalarRegion(Frame& outer, const Operation& operation, size_t region, Takes takes,
                                          std::vector<Instruction*>& captures);
  Instruction* ArrayOf(Frame& frame, const Shape& shape, const std::vector<Instruction*>& elements);
  void Promote(Frame& frame, Opcode opcode, const Computation& reducer, std::vector<Instruction*>& operands);
  Status ImportWithRegions(Frame& frame, const Operation& operation, Opcode opcode, std::vector<Instruction*> operands,
                           Attributes attributes, Takes takes, Shape stated = {});
  // A region whose values come in one parameter: a tuple of `state` and then `captures`, or the only one of them.
  struct State {
    std::vector<Shape> shapes;
    std::vector<ValueId> captures;
    std::vector<ValueId> sunk;
  };
  Result<State> StateOf(Frame& frame, const Operation& operation, std::span<const Region> regions,
                        std::vector<Shape> own);
  Result<Computation*> ImportStateRegion(Frame& outer, const Operation& operation, size_t region, const State& state,
                                         bool returns_state);
  Status ImportWhile(Frame& frame, const Operation& operation);
  Status ImportLoop(Frame& frame, const Operation& operation, std::vector<Instruction*> init);
  Status ImportTrips(Frame& frame, const Operation& operation, std::vector<Instruction*> values);
  bool HasOpenSizes(const Operation& operation) const;
  Status ImportBranches(Frame& frame, const Operation& operation);
  Status ImportConditional(Frame& frame, const Operation& operation, std::vector<Instruction*> operands);
  Status ImportOr(const std::function<Status()>& first, const std::function<Status()>& otherwise);
  Status ImportReduce(Frame& frame, const Operation& operation);
  Status ImportWindowed(Frame& frame, const Operation& operation);
  Status ImportScatter(Frame& frame, const Operation& operation);
  Status ImportSort(Frame& frame, const Operation& operation);
  Status ImportMap(Frame& frame, const Operation& operation);
  Status ImportReducingCollective(Frame& frame, const Operation& operation);

  // Others (import_ops.cc, import_calls.cc).
  Status ImportConstant(Frame& frame, const Operation& operation);
  Status ImportBroadcastInDim(Frame& frame, const Operation& operation);
  Status ImportBroadcast(Frame& frame, const Operation& operation);
  Status ImportReshape(Frame& frame, const Operation& operation);
  Status ImportIota(Frame& frame, const Operation& operation);
  Status ImportDynamicPad(Frame& frame, const Operation& operation);
  Status ImportRealDynamicSlice(Frame& frame, const Operation& operation);
  Status ImportDynamicGather(Frame& frame, const Operation& operation);
  Status ImportDynamicConvolution(Frame& frame, const Operation& operation);
  Status ImportAsyncStart(Frame& frame, const Operation& operation);
  Status ImportAsyncDone(Frame& frame, const Operation& operation);
  Status ImportDot(Frame& frame, const Operation& operation);
  Status ImportCompare(Frame& frame, const Operation& operation);
  Status ImportRng(Frame& frame, const Operation& operation);
  Status ImportConvert(Frame& frame, const Operation& operation);
  Status ImportIdentity(Frame& frame, const Operation& operation);
  Status ImportBarrier(Frame& frame, const Operation& operation);
  Status ImportTopK(Frame& frame, const Operation& operation);
  Status ImportChlo(Frame& frame, const Operation& operation);
  // Products and sequences (import_products.cc).
  Status ImportEinsum(Frame& frame, const Operation& operation);
  Status ImportTorchIndexSelect(Frame& frame, const Operation& operation);
  Status ImportRaggedDot(Frame& frame, const Operation& operation);
  Status ImportScan(Frame& frame, const Operation& operation);
  Status ImportStepsOnly(Frame& frame, const Operation& operation, std::vector<Instruction*> operands,
                         ScanAttributes attributes, int64_t size);
  Status ImportConstantLike(Frame& frame, const Operation& operation);
  // Builds a program of the operands' shapes and puts it in the operation's place.
  Status ImportProgram(Frame& frame, const Operation& operation,
                       const std::function<XlaOp(const std::vector<XlaOp>&)>& build);
  Result<Instruction*> CallFunction(Frame& frame, const Operation& operation, const std::string& callee,
                                    CallAttributes attributes);
  Status ImportCall(Frame& frame, const Operation& operation);
  Status ImportComposite(Frame& frame, const Operation& operation);
  Status ImportCustomCall(Frame& frame, const Operation& operation);
  Result<Operation> WithoutShapeOperands(Frame& frame, const Operation& operation, std::vector<Shape>& shapes);
  Status ImportCallOf(Frame& frame, const Operation& operation, std::vector<Shape> shapes);
  Result<bool> ImportAsChlo(Frame& frame, const Operation& operation, std::string_view name,
                            const Attribute* attributes);
  Status ImportAllToAll(Frame& frame, const Operation& operation);
  Status ImportInfeed(Frame& frame, const Operation& operation);
  Status ImportOutfeed(Frame& frame, const Operation& operation);
  Status ImportSend(Frame& frame, const Operation& operation);
  Status ImportRecv(Frame& frame, const Operation& operation);
  Status ImportNothing(Frame& frame, const Operation& operation);
  Result<IntList> ConstantInts(Frame& frame, const Operation& operation, size_t operand);

  // What is said of arrays on devices (import_shardings.cc).
  bool IsPartitioned() const;
  Result<std::vector<MeshPart>> ReadAxes(const OperationReader& reader, const DeviceMesh& mesh, const Attribute& axes,
                                         int64_t& total) const;
  Result<ArraySharding> ReadSharding(const OperationReader& reader, const Attribute& said, const Shape& shape);
  Result<std::optional<ArraySharding>> ReadOldSharding(const OperationReader& reader, const Attribute& said,
                                                       const Shape& shape);
  Result<std::optional<ArraySharding>> SaidOf(const OperationReader& reader, const Attribute* attributes,
                                              const Shape& shape, std::string_view what);
  Status CheckDevices(const OperationReader& reader, const DeviceMesh& mesh, const std::vector<MeshPart>& parts,
                      std::string_view what) const;
  void Mention(const std::shared_ptr<const DeviceMesh>& mesh);
  Status ReadEntryShardings(const Operation& function);
  Instruction* Constrained(Frame& frame, Instruction* value, ArraySharding sharding);
  Status ConstrainResults(Frame& frame, const Operation& operation);
  Status ImportShardingConstraint(Frame& frame, const Operation& operation);
  Status ImportShardingGroup(Frame& frame, const Operation& operation);
  Result<bool> ImportShardingCall(Frame& frame, const Operation& operation, std::string_view target);
  Status ImportQuestion(Frame& frame, const Operation& operation);
  Result<Shape> ManualTile(const OperationReader& reader, const ArraySharding& sharding,
                           const std::vector<std::string>& axes, const Shape& whole) const;
  Result<std::vector<ArraySharding>> ManualShardings(const Operation& operation, std::string_view list,
                                                     const std::vector<ValueId>& values);
  Status ImportManualComputation(Frame& frame, const Operation& operation);
  Status ImportBodyHere(Frame& frame, const Operation& operation, const Block& block,
                        const std::vector<Instruction*>& operands);
  Status CheckManualResults(const OperationReader& reader, const StatedShardings::Manual& said,
                            const std::vector<Instruction*>& results, const std::vector<Shape>& wholes) const;
  Result<std::unique_ptr<Module>> Partitioned(std::unique_ptr<Module> module);

  // Collectives with roots (import_collectives.cc).
  Instruction* Number(Frame& frame, ElementType type, int64_t value);
  Instruction* IsEqual(Frame& frame, Instruction* a, Instruction* b);
  Instruction* Chosen(Frame& frame, Instruction* condition, Shape like);
  Instruction* IsMember(Frame& frame, const CollectiveAttributes& attributes, Instruction* root);
  Result<std::vector<Instruction*>> TakeRoots(Frame& frame, const Operation& operation,
                                              std::vector<Instruction*>& operands);
  Result<std::vector<Instruction*>> BroadcastFrom(Frame& frame, const Operation& operation,
                                                  const std::vector<Instruction*>& operands,
                                                  const CollectiveAttributes& attributes, size_t member);
  Computation* SumOf(ElementType type);  // of two scalars
  Status ImportCollectiveBroadcast(Frame& frame, const Operation& operation);
  Status ImportCollectiveReduce(Frame& frame, const Operation& operation);
  Status ImportCrossReplicaSum(Frame& frame, const Operation& operation);

  // Functions with checks (import_checks.cc).
  struct CheckBuilder;
  Status BuildCheckStage(CheckBuilder& builder, const Operation& function, size_t number,
                         std::span<const Operation> operations);
  // A value of an earlier stage: a constant again, or one more parameter.
  void BindEarlierValue(CheckBuilder& builder, Frame& frame, ValueId value, std::vector<ValueId>& inputs);
  void BindStageOutputs(CheckBuilder& builder, Frame& frame, size_t number);
  Status CheckReturned(const Operation& function, const Operation& operation) const;
  Result<size_t> NumberOfCheck(const Operation& operation, const std::vector<Instruction*>& operands);
  Status ImportCheck(Frame& frame, const Operation& operation);
  Result<std::unique_ptr<ParallelRun>> ImportRunParallel(const Operation& operation);
  Status ImportInfeeds(const Operation& operation, const Attribute& infeed, ParallelRun& run);
  void NewCheckModule(std::string_view name);
  Instruction* DeviceNumber(Frame& frame, int64_t partitions);
  Result<Instruction*> CallProgram(Frame& frame, const Operation& operation, const std::string& name,
                                   std::span<const ValueId> operands,
                                   const std::function<Instruction*(size_t operand)>& value, size_t& taken);
  Status BuildSameRun(const Operation& operation, const std::vector<std::string>& names, ParallelRun& run);
  Result<Computation*> BuildSharedBranch(const Operation& operation, const std::string& name, int64_t device,
                                         const ParallelRun& run, const std::vector<Shape>& shapes,
                                         const std::vector<Shape>& gives, size_t& taken);
  Status BuildSharedRun(const Operation& operation, const std::vector<std::string>& names, ParallelRun& run);

  const Program& program_;
  Program actual_;  // its values only
  std::vector<std::optional<Shape>>* largest_ = nullptr;
  size_t next_answer_ = 0;
  Frame* entry_frame_ = nullptr;
  StatedShardings stated_;
  std::map<int64_t, Shape> group_shapes_;  // of the arrays of each sharding group
  std::unique_ptr<Module> whole_;
  int64_t partitions_ = 1;
  std::vector<Sharding> parameter_shardings_, result_shardings_, answers_;
  int manual_depth_ = 0;            // of what is written for a device rather than for whole arrays
  CheckBuilder* checks_ = nullptr;  // of a function of checks; null: a program
  int applied_ = 0;                 // regions on scalars that are being imported
  std::optional<SpecializedModule> question_;
  std::vector<std::unique_ptr<Computation>> retired_;  // whose place others took
  std::unordered_map<const Instruction*, Literal> known_;
  std::unordered_set<const Instruction*> unknown_;
  std::unordered_map<const Instruction*, const Instruction*> captured_from_;  // what a region takes from around it
  // Arguments of loops' blocks that keep the constant they begin with.
  std::unordered_map<ValueId, const Instruction*> invariant_;
  int64_t inlined_ = 0;
  int trips_ = 0;  // that are written out
  // The loop that a scf.forall is here, by its number; whether its first update is still to come.
  struct Forall {
    int64_t number = 0;
    bool begins = false;
  };
  std::unordered_map<int64_t, Forall> foralls_;
  int64_t forall_count_ = 0;
  IntList lane_sizes_;  // of the axes of the open regions that are done for all their elements at once, outermost first
  std::unordered_map<ValueId, Axes> lane_axes_;  // of values that differ
  // The branches around what is imported that run for all elements: those that take one are those for which the
  // predicate is so.
  struct LaneBranch {
    const Frame* frame;
    ValueId predicate;
    bool when;
  };
  std::vector<LaneBranch> lane_branches_;
  std::unique_ptr<Module> module_;
  const ProgramFacts* facts_ = nullptr;  // null: all sizes are in the text
  FoldInstruction fold_;
  std::unordered_map<std::string, const Operation*> functions_;
  std::unordered_map<std::string, Computation*> imported_;
  std::set<std::string> open_;  // functions that are being imported: a call of one of them recurses
  std::unordered_map<const Computation*, Computation*> inlined_callees_;
  std::string_view name_hint_;
  SourceLocation location_;
};

}  // namespace VXLA_NAMESPACE::mlir
