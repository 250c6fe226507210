// What each operation becomes: functions of the frame that it is imported into, by family.
#pragma once

#include "core/mlir/importer/import_state.h"

namespace VXLA_NAMESPACE::mlir {

// Imports one operation; its operands are the handler's to change.
using Handler = Status(Frame& frame, const Operation& operation, Instructions& operands);
// With how many operands, results and regions it takes.
constexpr int kAny = -1;
constexpr int AtLeast(int count) { return kAny - count; }
struct HandlerRow {
  Handler* handler = nullptr;
  int operands = kAny, results = kAny, regions = kAny;
};

// Instructions of a frame, and what values are there (import_frame.cc).
Result<Instruction*> Lookup(Frame& frame, const Operation& operation, ValueId value);
Result<Instructions> Operands(Frame& frame, const Operation& operation);
// With its shape inferred; `stated` gives what the operands leave open.
Result<Instruction*> AddInferred(Frame& frame, const Operation& operation, Opcode opcode, Instructions operands,
                                 Attributes attributes = NoAttributes{}, std::vector<Computation*> called = {},
                                 Shape stated = {});
// The same, whose results are those of the operation.
Status BindInferred(Frame& frame, const Operation& operation, Opcode opcode, Instructions operands,
                    Attributes attributes = NoAttributes{}, std::vector<Computation*> called = {}, Shape stated = {});
Status BindValues(Frame& frame, const Operation& operation, const Instructions& values);
// The results of an operation are those of an instruction: it, or the elements of its tuple.
Status BindResults(Frame& frame, const Operation& operation, Instruction* instruction);
// The root of a program of such operands, which is written here.
using BuildProgram = std::function<XlaOp(const std::vector<XlaOp>&)>;
Result<Instruction*> Composed(Frame& frame, const Operation& operation, const Instructions& operands,
                              const BuildProgram& build);
Status BindComposed(Frame& frame, const Operation& operation, const Instructions& operands, const BuildProgram& build);

// Any operation, and those of one opcode (import_operations.cc).
Result<const Block*> OnlyBlock(const Operation& operation, size_t region);
Result<Instructions> RunBlock(Frame& frame, const Block& block);
Status ImportPlain(Frame& frame, const Operation& operation, Opcode opcode);
Status ImportOperation(Frame& frame, const Operation& operation);

// Single operations (import_ops.cc).
Status CheckSizes(Frame& frame, const Operation& operation, size_t operand, const Shape& stated);
Result<IntList> ConstantInts(Frame& frame, const Operation& operation, size_t operand);
Handler ImportConstant, ImportBroadcastInDim, ImportBroadcast, ImportReshape, ImportIota, ImportDynamicPad,
    ImportRealDynamicSlice, ImportDynamicGather, ImportDynamicConvolution, ImportDot, ImportCompare, ImportRng,
    ImportConvert, ImportNothing, ImportBarrier;

// Products and sequences (import_products.cc).
Handler ImportEinsum, ImportTorchIndexSelect, ImportRaggedDot, ImportScan, ImportConstantLike;

// Calls, custom calls, other devices and the host (import_calls.cc).
Handler ImportCustomCall, ImportCall, ImportComposite, ImportAsyncStart, ImportAsyncDone, ImportAllToAll, ImportInfeed,
    ImportOutfeed, ImportSend, ImportRecv, ImportTopK, ImportChlo;

// Collectives with roots (import_collectives.cc).
Handler ImportCollectiveBroadcast, ImportCollectiveReduce, ImportCrossReplicaSum;

// Operations with regions (import_regions.cc).
// How a region on scalars takes one from around it that is no constant: not at all, as one more parameter, as a pair
// like the values of a comparator, or as one more value that is accumulated.
enum class Takes : uint8_t { kConstants, kOnce, kPairs, kAccumulated };
std::vector<ValueId> FreeValues(const Region& region);
bool Sinks(const Instruction* value);
Result<Computation*> ImportScalarRegion(Frame& outer, const Operation& operation, size_t region, Takes takes,
                                        Instructions& captures);
void Promote(Frame& frame, Opcode opcode, const Computation& reducer, Instructions& operands);
Status ImportWithRegions(Frame& frame, const Operation& operation, Opcode opcode, Instructions operands,
                         Attributes attributes, Takes takes, Shape stated = {});
Handler ImportWhile, ImportBranches, ImportAlong, ImportWindowed, ImportScatter, ImportSort, ImportReducingCollective;

// Regions that are done for all elements at once (import_lanes.cc).
const Axes& AxesOf(Frame& frame, ValueId value);
Axes AxesOf(Frame& frame, const Operation& operation);  // of its operands together
Shape OwnShape(Frame& frame, ValueId value, const Instruction* instruction);
// With these axes, of which it has some, and `own` as its dimensions where it is one for all of them.
Instruction* Spread(Frame& frame, Instruction* value, const Axes& has, const Axes& axes, std::span<const int64_t> own);
// The operands, each with the axes of all.
void Align(Frame& frame, const Operation& operation, Instructions& values);
// Binds what has the axes of the operands together.
Status BindLanes(Frame& frame, const Operation& operation, Instruction* value);
Status BindLanes(Frame& frame, ValueId result, const Operation& operation, Instruction* value, Axes axes);
bool HasLanes(Frame& frame, const Operation& operation);  // an operand, or a value that its regions use
// A region with an index for each dimension of `shape`; a scalar if all its elements are the same.
Result<Instruction*> RunLanes(Frame& frame, const Operation& operation, const Shape& shape, Axes* outer = nullptr);
bool InLaneBranch(const Frame& frame);
Status ImportLaneExtract(Frame& frame, const Operation& operation, const Instructions& operands, bool guarded);
Handler ImportGenerate, ImportTensorCast, ImportLaneBranches;

// The tensor dialect (import_tensor.cc).
HandlerRow TensorHandlerOf(std::string_view name);
Instruction* IndexConstant(Frame& frame, const IntList& values, bool scalar);
void MarkChecked(Instruction* instruction, const Operation& operation);
// Of a loop whose updates are parallel: from here on its number is new; what it starts with; one of the updates.
void BeginForall(Frame& frame, const Operation& operation, bool written_out);
void MarkForall(Frame& frame, Instruction* start, const Operation& operation);
Result<Shape> SizedBy(Frame& frame, const Operation& operation, size_t next);
Handler ImportDim;

// The dialects arith and shape (import_arith.cc).
Instruction* Bits(Frame& frame, Instruction* value, ElementType type);
Instruction* Filled(Frame& frame, const Shape& like, int64_t value);
Result<Instruction*> Compared(Frame& frame, const Operation& operation, Instruction* a, Instruction* b,
                              ComparisonDirection direction);
Handler ImportArith, ImportArithConstant, ImportShapeDialect;

// Sizes that are operands, and known when the program is refined (import_dynamic.cc).
// A result that is known becomes a constant.
Instruction* Folded(Frame& frame, Instruction* value);
Result<Shape> ShapeFromOperand(Frame& frame, const Operation& operation, size_t operand, ElementType type);
Result<bool> ImportDynamicCustomCall(Frame& frame, const Operation& operation, Instructions& operands);
// Starts that are one value each, of an array of them.
Result<Instructions> Scalars(Frame& frame, const Operation& operation, Instruction* list);
Result<bool> ImportMovingSlice(Frame& frame, const Operation& operation, const Instructions& operands);
Result<bool> ImportKnownBranch(Frame& frame, const Operation& operation, const Instruction* index);
Handler ImportGetDimensionSize, ImportSetDimensionSize;

// Results with bounds, whose sizes are operands (import_bounded.cc).
bool IsBounded(Frame& frame, const Operation& operation, size_t result = 0);
bool AreKnown(Frame& frame, const Instructions& operands, size_t first);
Instruction* ElementAt(Frame& frame, Instruction* list, int64_t i);
// Of places at which something lies in steps from 0 on, `count` times: which it is, and whether one lies there.
struct Steps {
  Instruction *number, *hits;
};
Steps InSteps(Frame& frame, Instruction* at, Instruction* step, Instruction* count);
Instruction* Extent(Frame& frame, Instruction* value, int64_t dimension);
Result<Instruction*> WithSizes(Frame& frame, const Operation& operation, Instruction* value, const Instructions& sizes);
Instructions BoundedSizes(Frame& frame, const Shape& stated, Instruction* list);
Result<Instruction*> AtBound(Frame& frame, const Operation& operation, Instruction* value, int dimension,
                             int64_t bound);
Result<Instruction*> WithAgreedSize(Frame& frame, const Operation& operation, Instruction* value, int dimension,
                                    Instruction* size, Instruction* stated);
// What an assertion without a message says.
constexpr char kShapesDoNotFit[] = "the shapes do not fit";
// "... {0} ..." with the values in the places of the numbers.
std::string FillIn(std::string_view text, std::span<const std::string> values);
Result<bool> ImportBoundedAssertion(Frame& frame, const Operation& operation);
Status BindSized(Frame& frame, const Operation& operation, Opcode opcode, Instructions operands, Attributes attributes,
                 size_t list);
Status ImportBoundedBroadcast(Frame& frame, const Operation& operation, const Instructions& operands,
                              const IntList& dimensions);
Status ImportBoundedReshape(Frame& frame, const Operation& operation, const Instructions& operands);
Result<Instruction*> TakeAlong(Frame& frame, const Operation& operation, Instruction* value, int64_t dimension,
                               Instruction* places);
Status ImportBoundedPad(Frame& frame, const Operation& operation, const Instructions& operands);
Status ImportBoundedSlice(Frame& frame, const Operation& operation, const Instructions& operands);
Status ImportBoundedGather(Frame& frame, const Operation& operation, const Instructions& operands,
                           GatherAttributes attributes);
Status ImportBoundedConvolution(Frame& frame, Operation convolution, Instruction* padding);

// Custom calls with such results (import_bounded_calls.cc).
Status ImportBoundedTopK(Frame& frame, const Operation& operation, const Instructions& operands);
Status ImportBoundedRngBits(Frame& frame, const Operation& operation, const Instructions& operands,
                            RngBitGeneratorAttributes attributes);
Status ImportBoundedReduceWindow(Frame& frame, const Operation& operation, Instructions operands, Computation* reducer);

// Functions of checks (import_checks.cc).
Handler ImportCheck;

}  // namespace VXLA_NAMESPACE::mlir
