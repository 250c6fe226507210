// Row programs as steps: one kernel, or for shared-out rows a kernel for each pass, whose shares are joined by another
// one or by each workgroup of those that come next.
#include "backend/vulkan/lower/rows/row_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Accumulators of one pass that the shares of a row leave, in one buffer for each value.
struct Shares {
  std::vector<BufferSlice> slices;
  int64_t rows, splits;
  bool row_major;  // else share-major
  IndexExpression At(const IndexSpace& space, const IndexExpression& row, const IndexExpression& share) const {
    return row_major ? space.Add(space.Scale(row, splits), share) : space.Add(space.Scale(share, rows), row);
  }
  // The accumulators of a share, of a reduce whose values are the pass's from `first` on.
  std::vector<std::string> Load(ValueWriter& writer, const RowReduce& reduce, size_t first, const IndexExpression& row,
                                const IndexExpression& share) const {
    std::vector<std::string> values;
    for (const ElementType type : reduce.types) {
      const int k = writer.kernel().AddBuffer(type, Access::kRead, slices[first++]);
      values.push_back(writer.Load(k, At(writer.space(), row, share)));
    }
    return values;
  }
};

// What the kernels of later passes know a pass's results by: finished in scratch memory, or as shares.
struct SavedResults {
  std::vector<std::vector<BufferSlice>> slices;  // by reduce and value; none where shares are joined in place
  std::vector<Shares> shares;                    // by pass, from 1 on
};

RowWork WorkOf(const LowerContext& context, const RowProgram& program, bool elements) {
  RowWork work{program.rows, program.row_size, program.rows_contiguous, program.passes() + (elements ? 1 : 0), 0};
  for (const RowReduce& reduce : program.reduces) {
    int bytes = reduce.holds_flag() ? 4 : 0;
    for (ElementType type : reduce.types) bytes += std::max(StorageBytes(type), 4);
    work.accumulator_bytes += bytes;
    work.shuffles &= std::ranges::all_of(reduce.types, ShuffleTakes);
    work.ordered |= !reduce.commutes;
    work.in_order |= reduce.in_order;
  }
  const bool pairs = ComputesInPairs(context, *program.body);
  work.most_width = pairs || (work.ordered && !work.rows_contiguous) ? 1 : program.most_width;
  work.holds = work.passes > 1 && !pairs && !work.ordered;
  return work;
}

RowValue LoadedResult(const RowReduce& reduce, const BufferSlice& slice, size_t leaf) {
  RowValue value;
  value.type = reduce.result_types[leaf];
  value.value = [slice, type = value.type](ValueWriter& writer, const RowPlace& place) {
    return writer.Load(writer.kernel().AddBuffer(type, Access::kRead, slice), place.row);
  };
  return value;
}

// Joins the shares of a row, in their order, where its results are wanted: texts of the results. A kernel has one, for
// all its rows.
class JoinInPlace {
 public:
  // `first`: of the reduce's values among those of the pass.
  JoinInPlace(const RowReduce& reduce, const Shares& shares, size_t first, size_t number)
      : reduce_(reduce), shares_(shares), first_(first), name_(fmt::format("join{}", number)) {}

  std::string Result(ValueWriter& writer, const RowPlace& place, size_t leaf) {
    for (const auto& [row, results] : rows_) {
      if (row == place.row) return results[leaf];
    }
    rows_.emplace_back(place.row, Join(writer, place.row));
    return rows_.back().second[leaf];
  }

 private:
  std::vector<std::string> Join(ValueWriter& writer, const IndexExpression& row) {
    if (rows_.empty()) writer.kernel().Append(reduce_.combine(name_));
    std::vector<std::string> total = shares_.Load(writer, reduce_, first_, row, {});
    for (size_t leaf = 0; leaf < total.size(); ++leaf)
      total[leaf] = writer.Assignable(reduce_.types[leaf], total[leaf]);
    // Written out, so that all loads are under way before the first one is used.
    const std::string index = fmt::format("{}_share{}", name_, rows_.size());
    writer.OpenBlock("[[unroll]] for (uint {0} = 1u; {0} < {1}u; ++{0})", index, shares_.splits);
    const int variable = writer.NewVariable(index, shares_.splits);
    writer.Line(JoinText(name_, total, shares_.Load(writer, reduce_, first_, row, writer.space().Variable(variable))));
    writer.CloseBlock();
    return reduce_.Results(writer, name_, std::move(total));
  }

  const RowReduce& reduce_;
  const Shares& shares_;
  const size_t first_;
  const std::string name_;
  std::vector<std::pair<IndexExpression, std::vector<std::string>>> rows_;
};

// The program's results of passes up to `level` become values of the row that are loaded or joined.
void LoadSaved(const RowProgram& program, const SavedResults& saved, int level, RowProgram* stage) {
  std::vector<size_t> first(saved.shares.size() + 1);  // of a pass, values of the reduces before
  for (size_t i = 0; i < program.reduces.size(); ++i) {
    const RowReduce& reduce = program.reduces[i];
    if (reduce.pass > level) continue;
    // Each value is published by the last of the reduce's results, when all are there.
    auto names = std::make_shared<std::vector<std::string>>(reduce.result_types.size());
    std::shared_ptr<JoinInPlace> join;
    if (saved.slices[i].empty()) {
      const auto pass = static_cast<size_t>(reduce.pass);
      join = std::make_shared<JoinInPlace>(reduce, saved.shares[pass - 1], first[pass], i);
      first[pass] += reduce.types.size();
    }
    for (size_t leaf = 0; leaf < reduce.result_types.size(); ++leaf) {
      RowValue value;
      if (join == nullptr) {
        value = LoadedResult(reduce, saved.slices[i][leaf], leaf);
      } else {
        value.type = reduce.result_types[leaf];
        value.value = [join, leaf](ValueWriter& writer, const RowPlace& place) {
          return join->Result(writer, place, leaf);
        };
      }
      value.publish = [names, leaf, &reduce](ValueWriter& writer, const RowPlace& place, const std::string& name) {
        (*names)[leaf] = name;
        if (leaf + 1 == names->size()) reduce.publish(writer, place, *names);
      };
      stage->values.push_back(value);
    }
  }
}

// The row values of the program up to `level`, computed at once.
void TakeValues(const RowProgram& program, int level, RowProgram* stage) {
  for (RowValue value : program.values) {
    if (value.level > level) continue;
    value.level = 0;
    stage->values.push_back(std::move(value));
  }
}

void TakeElementOutputs(const RowProgram& program, int level, RowProgram* stage) {
  for (RowOutput output : program.outputs) {
    if (!output.per_element || output.level != level) continue;
    output.level = 0;
    stage->outputs.push_back(std::move(output));
  }
}

RowProgram StageOf(const RowProgram& program, std::string_view what) {
  RowProgram stage;
  stage.body = program.body;
  stage.buffers = program.buffers;
  stage.name = fmt::format("{} {}", program.name, what);
  stage.rows = program.rows;
  stage.row_size = program.row_size;
  stage.rows_contiguous = program.rows_contiguous;
  stage.most_width = program.most_width;
  return stage;
}

class SplitLowering {
 public:
  SplitLowering(const LowerContext& context, const RowProgram& program, const RowShape& shape)
      : context_(context), program_(program), shape_(shape) {}

  std::vector<Step> Lower() {
    const int passes = program_.passes();
    for (const RowReduce& reduce : program_.reduces) {
      std::vector<BufferSlice>& slices = saved_.slices.emplace_back();
      if (JoinsInPlace(reduce.pass)) continue;
      for (ElementType type : reduce.result_types) {
        slices.push_back(program_.buffers->Scratch(program_.rows * StorageBytes(type)));
      }
    }
    saved_.shares.reserve(static_cast<size_t>(passes));  // they are referred to
    for (int pass = 1; pass <= passes; ++pass) {
      saved_.shares.push_back(LowerPartial(pass));
      if (!JoinsInPlace(pass)) LowerCombine(pass, saved_.shares.back());
    }
    RowProgram elements = StageOf(program_, "elements");
    TakeElementOutputs(program_, passes, &elements);
    if (!elements.outputs.empty()) {
      LoadSaved(program_, saved_, passes, &elements);
      NoteJoins(passes, &elements);
      TakeValues(program_, passes, &elements);
      steps_.push_back(WriteRowKernel(context_, elements, {shape_, {}}));
    }
    steps_.front().flop = program_.flop;
    return std::move(steps_);
  }

 private:
  Shares LowerPartial(int pass) {
    RowProgram stage = StageOf(program_, fmt::format("pass {}", pass));
    stage.flop = program_.flop;
    stage.live_elements = program_.live_elements;
    LoadSaved(program_, saved_, pass - 1, &stage);
    NoteJoins(pass - 1, &stage);
    TakeValues(program_, pass - 1, &stage);
    TakeElementOutputs(program_, pass - 1, &stage);
    if (shape_.in_order) return LowerChain(pass, std::move(stage));
    Shares shares{{}, program_.rows, shape_.splits, !shape_.along_rows};
    for (RowReduce reduce : program_.reduces) {
      if (reduce.pass != pass) continue;
      reduce.pass = 1;
      for (ElementType type : reduce.types) {
        shares.slices.push_back(program_.buffers->Scratch(program_.rows * shape_.splits * StorageBytes(type)));
      }
      stage.reduces.push_back(std::move(reduce));
    }
    steps_.push_back(WriteRowKernel(context_, stage, {shape_, shares.slices}));
    return shares;
  }

  // Kernels that follow each other, the accumulators of which are read and written in turn in two places. What the last
  // one leaves is the only share.
  Shares LowerChain(int pass, RowProgram stage) {
    std::array<std::vector<BufferSlice>, 2> places;
    for (RowReduce reduce : program_.reduces) {
      if (reduce.pass != pass) continue;
      reduce.pass = 1;
      for (ElementType type : reduce.types) {
        for (auto& place : places) place.push_back(program_.buffers->Scratch(program_.rows * StorageBytes(type)));
      }
      stage.reduces.push_back(std::move(reduce));
    }
    RowShape shape = shape_;
    shape.splits = 1;
    stage.flop /= shape_.splits;
    const auto count = static_cast<size_t>(shape_.splits);
    for (size_t k = 0; k < count; ++k) {
      RowKernel kernel{shape, places[k % 2]};
      if (k > 0) kernel.carried = places[(k + 1) % 2];
      kernel.first_step = static_cast<int64_t>(k) * shape_.chunk;
      steps_.push_back(WriteRowKernel(context_, stage, kernel));
      StepAccumulation& whole = steps_.back().accumulations.back();
      if (k > 0) {
        steps_.back().accumulations.clear();
      } else {
        whole.level.chunk = program_.row_size;
      }
    }
    return {places[(count - 1) % 2], program_.rows, 1, false};
  }

  void LowerCombine(int pass, const Shares& shares) {
    RowProgram stage = StageOf(program_, fmt::format("join {}", pass));
    stage.row_size = shares.splits;
    stage.most_width = 8;
    stage.rows_contiguous = !shares.row_major;
    LoadSaved(program_, saved_, pass - 1, &stage);
    TakeValues(program_, pass - 1, &stage);
    for (RowValue value : program_.values) {
      if (value.level != pass) continue;
      value.level = 1;
      stage.values.push_back(std::move(value));
    }
    size_t next = 0;
    for (const size_t i : program_.ReducesOf(pass)) {
      RowReduce reduce = program_.reduces[i];
      reduce.pass = 1;
      reduce.element = [&shares, next, &of = program_.reduces[i]](ValueWriter& writer, const RowPlace& place) {
        return shares.Load(writer, of, next, place.row, place.element);
      };
      next += reduce.types.size();
      // Shares are accumulators already; only the initial value is not.
      reduce.elements_taken = true;
      reduce.take = nullptr;
      if (shape_.in_order) {
        reduce.in_order = false;
        reduce.init = nullptr;
      }
      SaveResults(i, reduce, &stage);
      stage.reduces.push_back(std::move(reduce));
    }
    for (RowOutput output : program_.outputs) {
      if (output.per_element || std::max(output.level, 1) != pass) continue;
      output.level = 1;
      stage.outputs.push_back(std::move(output));
    }
    RowShape shape = TuneRows(context_.facts, WorkOf(context_, stage, false));
    // Shares are few. Of a device with many units they may still be more than TuneRows gives to one workgroup.
    if (shape.splits > 1) {
      shape.chunk *= shape.splits;
      shape.splits = shape.interleaved = 1;
    }
    steps_.push_back(WriteRowKernel(context_, stage, {shape, {}}));
    if (shape_.in_order) steps_.back().accumulations.clear();
  }

  // On GPUs a dispatch behind a barrier costs more than a few loads, so each workgroup of the kernels that want a
  // pass's results joins its shares itself, the same order in each. Not where they are results of the program, and not
  // the two floats of wide sums.
  bool JoinsInPlace(int pass) const {
    constexpr int64_t kMostLoads = 64;
    if (context_.facts.costs.subgroups_in_turn || shape_.in_order || !IsReadLater(pass)) return false;
    int64_t values = 0;
    for (const RowReduce& reduce : program_.reduces) {
      if (reduce.pass != pass) continue;
      if (reduce.widens) return false;
      values += static_cast<int64_t>(reduce.types.size());
    }
    return values * shape_.splits <= kMostLoads && !std::ranges::any_of(program_.outputs, [&](const RowOutput& output) {
             return !output.per_element && std::max(output.level, 1) == pass;
           });
  }

  // The first kernel after a pass that joins in place tells of it.
  void NoteJoins(int pass, RowProgram* stage) {
    if (pass == 0 || !JoinsInPlace(pass)) return;
    StepAccumulation& join = stage->joins.emplace_back();
    join.level.chunk = shape_.splits;
    for (const RowReduce& reduce : program_.reduces) {
      if (reduce.pass == pass && reduce.source != nullptr) join.of.push_back(PathOf(*reduce.source));
    }
  }

  // Whether a later kernel reads the results of passes up to this one.
  bool IsReadLater(int pass) const { return pass < program_.passes() || program_.stores_elements(); }

  void SaveResults(size_t i, RowReduce& reduce, RowProgram* stage) {
    if (!IsReadLater(program_.reduces[i].pass)) return;
    auto names = std::make_shared<std::vector<std::pair<IndexExpression, std::vector<std::string>>>>();
    reduce.publish = [names, publish = reduce.publish](ValueWriter& writer, const RowPlace& place,
                                                       const std::vector<std::string>& results) {
      names->emplace_back(place.row, results);
      publish(writer, place, results);
    };
    for (size_t leaf = 0; leaf < reduce.result_types.size(); ++leaf) {
      RowOutput& output = stage->outputs.emplace_back();
      output.level = 1;
      output.type = reduce.result_types[leaf];
      output.slice = saved_.slices[i][leaf];
      output.value = [names, leaf](ValueWriter&, const RowPlace& place) {
        for (const auto& [row, results] : *names) {
          if (row == place.row) return results[leaf];
        }
        VXLA_CHECK(false, "a result that was not published");
        return std::string();
      };
    }
  }

  const LowerContext& context_;
  const RowProgram& program_;
  const RowShape shape_;
  SavedResults saved_;
  std::vector<Step> steps_;
};

}  // namespace

std::vector<RowOutput> RowOutputsOf(const FusionDescription& body, BufferMap& buffers) {
  std::vector<RowOutput> outputs;
  for (const ResultLeaf& result : ResultLeaves(body)) {
    RowOutput& output = outputs.emplace_back();
    output.level = 1;
    output.type = result.shape->element_type();
    output.slice = buffers.SliceOf(*body.instruction, static_cast<int>(outputs.size()) - 1);
    output.value = [result](ValueWriter& writer, const RowPlace& place) {
      const MultiIndex index = writer.space().Delinearize(place.row, result.shape->dimensions());
      return writer.LeafValue(*result.root, result.element, index);
    };
  }
  return outputs;
}

RowReduce::RowReduce(const Instruction& reduction) : Reducer(ReadReducer(reduction)), source(&reduction) {
  init = [&reduction](ValueWriter& writer) {
    std::vector<std::string> values;
    for (int i = reduction.operand_count() / 2; i < reduction.operand_count(); ++i)
      values.push_back(writer.Value(*reduction.operand(i), {}));
    return values;
  };
  for (const Shape* leaf : FlattenTuple(reduction.shape())) result_types.push_back(leaf->element_type());
}

std::vector<std::string> RowReduce::Starts(ValueWriter& writer) const {
  std::vector<std::string> starts = init(writer);
  starts[0] = Taken(starts[0]);
  for (size_t leaf = 0; leaf < starts.size(); ++leaf) starts[leaf] = writer.Assignable(types[leaf], starts[leaf]);
  return starts;
}

std::vector<std::string> RowReduce::Results(ValueWriter& writer, std::string_view combine,
                                            std::vector<std::string> sums, const std::string& holds) const {
  if (init && !in_order) {
    std::vector<std::string> whole = Starts(writer);
    const std::string joined = JoinText(combine, whole, sums);
    writer.Line(holds.empty() ? joined : fmt::format("if ({}) {{ {} }}", holds, joined));
    sums = std::move(whole);
  }
  for (size_t leaf = 0; leaf < sums.size(); ++leaf) sums[leaf] = Result(leaf, result_types[leaf], sums[leaf]);
  return sums;
}

std::vector<std::string> RowReduce::Finish(ValueWriter& writer, std::string_view combine, std::vector<std::string> sums,
                                           const std::string& holds) const {
  sums = Results(writer, combine, std::move(sums), holds);
  for (size_t leaf = 0; leaf < sums.size(); ++leaf) sums[leaf] = writer.Assignable(result_types[leaf], sums[leaf]);
  return sums;
}

std::vector<Step> LowerRowProgram(const LowerContext& context, const RowProgram& program) {
  const RowShape shape = TuneRows(context.facts, WorkOf(context, program, program.stores_elements()));
  if (shape.splits > 1) return SplitLowering(context, program, shape).Lower();
  Step step = WriteRowKernel(context, program, {shape, {}});
  if (program.live_rows.size == nullptr) return {std::move(step)};
  LiveCount units = program.live_rows;
  if (shape.along_rows) units.width = shape.width;
  return WithLiveGroups(context, *program.body, *program.buffers, units, std::move(step), shape.rows_per_group, 1);
}

}  // namespace VXLA_NAMESPACE::vulkan
