// Writes loads and stores of tensors' elements: one by one, or a group of neighbours at once.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "backend/vulkan/codegen/index_writer.h"

namespace VXLA_NAMESPACE::vulkan {

class TensorWriter : public IndexWriter {
 public:
  using IndexWriter::IndexWriter;
  virtual ~TensorWriter() = default;

  // `variable` counts groups of `width` (4 or 8) neighbours, and values will be asked for at width * variable + 0, 1
  // ...: loads of 32-bit types that lie side by side then become one load of the group. 8 needs 64-bit integers.
  // Several variables may be given, of one width. 16 is for packed elements alone.
  void Vectorize(int variable, int width);
  // A new variable that counts groups of `width`, where these are more than one.
  using IndexWriter::NewVariable;
  int NewVariable(std::string glsl_name, int64_t size, int64_t width);
  // Groups of 8 are stored in the pairs of words that they were loaded in, where the driver is fast so: for what is
  // only moved. (What is computed lavapipe has in vectors of 32-bit lanes, and puts pairs of it together on the stack,
  // lane by lane.)
  void OnlyMoves() { only_moves_ = true; }
  // Groups of 8 that are computed are stored as pairs of words, too, which shifts join (JOINED in access.glsl): half
  // the accesses. (Not where few operations are done: LLVM may then fetch their operands from 64-bit vectors.)
  void JoinPairs() { joins_pairs_ = true; }
  // What is loaded in pairs and stored after little arithmetic: LLVM would store a half of a 64-bit lane by a look at
  // the 64-bit vector on the stack, but for a zero that it does not know it is. (Elsewhere it costs a twentieth.)
  void HideLoads() { hides_loads_ = true; }
  // The index itself where all conditions hold, else that of the first element: an element that exists, whose index is
  // counted in groups where it can be. None: the index cannot be counted in 32 bits. Memoised.
  std::optional<MultiIndex> Existing(const MultiIndex& index, const Shape& shape,
                                     std::span<const std::string> conditions);
  // The carrier value of the element of tensor k at a linear index. Memoised.
  std::string Load(int k, const IndexExpression& linear);
  // Stores values at linear indices first + 0, 1 ...: as groups where Vectorize() allows, else one by one.
  // What the kernel has to do after stores to the tensor comes next.
  void StoreGroup(int k, const IndexExpression& first, std::span<const std::string> values);
  // Stores values at these linear indices: as a group where they lie side by side and `together` allows it, else one by
  // one, each where what `exists` gives for it holds (nothing: it is there).
  void StoreAt(int k, std::span<const IndexExpression> places, std::span<const std::string> values,
               bool together = true, const std::function<std::string(size_t)>& exists = {});

 protected:
  // The group that a linear index of tensor k falls into and its place there, if groups can be read at once.
  struct GroupPlace {
    IndexExpression group;
    int64_t place;
  };
  // `along`: only where groups follow each other as a vectorized variable counts.
  std::optional<GroupPlace> FindGroup(int k, const IndexExpression& linear, bool along = true) const;
  // The word that element `at` lies in, loaded; with its pair where there are pairs. Memoised.
  std::string WordAt(int k, const GroupPlace& at);
  int vector_width() const { return vector_width_; }
  // `local` is what round_f16 or round_bf16 gave.
  void NoteRounded(const std::string& local) { rounded_.insert(local); }
  // What has to be done with values that have just been stored in tensor k from `first` on.
  virtual void AfterStore(int k, const IndexExpression& first, std::span<const std::string> values) = 0;
  // The same value in another local, but for a NaN's bits, where there is one.
  const std::string& OfAnyNan(const std::string& local) const;
  Code Take();

 private:
  std::string LoadFromGroup(int k, const GroupPlace& at);
  IndexExpression WordOf(int k, const GroupPlace& at) const;
  // Whether groups of tensor k are pairs of words that one access moves.
  bool HasPairs(int k) const;
  // Words that a load or store of a group of packed elements moves at a time.
  int WordsOfAnAccess(int k) const;
  Stored PackedWord(ElementType type, std::span<const std::string> parts) const;
  std::string LoadWord(int k, const GroupPlace& at);
  std::string LoadFromWord(int k, const GroupPlace& at);
  void StoreValue(int k, const IndexExpression& place, const std::string& value);
  void StoreNeighbours(int k, const IndexExpression& first, std::span<const std::string> values);
  void StoreWords(int k, const IndexExpression& group, std::span<const std::string> values);
  void StoreValues(int k, std::string_view tag, const std::string& index, std::vector<Stored> values);

  std::vector<int> vector_variables_;
  int vector_width_ = 1;
  bool only_moves_ = false, hides_loads_ = false, joins_pairs_ = false;
  std::unordered_set<std::string> rounded_;
  std::unordered_map<std::string, std::string> any_nan_of_;
};

}  // namespace VXLA_NAMESPACE::vulkan
