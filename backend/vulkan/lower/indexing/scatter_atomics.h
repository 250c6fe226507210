// Updates of scatters by atomic operations, whatever order they come in.
#pragma once

#include "backend/vulkan/lower/indexing/scatter_text.h"

namespace VXLA_NAMESPACE::vulkan {

class ScatterAtomics : public ScatterText {
 public:
  using ScatterText::ScatterText;

  // Each lane's update applied to its element, lanes at neighbouring elements from `linear` on.
  void ApplyAtomic(const IndexExpression& linear, const std::vector<Place>& lanes);

 private:
  // Of elements of a word or of a part of one, and of two words.
  void ApplyInWord(int k, const std::string& index, std::span<const std::string> updates);
  void ApplyToTwoWords(int k, const std::string& index, const std::string& update);
  void AddToParts(const Elements& word, const std::string& added, int64_t bits);
  void ExchangeUntilKept(const Elements& memory, std::string_view type,
                         const std::function<std::string(const std::string& seen)>& wanted);
  // The computation's result for array k of an element and an update.
  std::string Combined(int k, const std::string& element, const std::string& update) const;
};

}  // namespace VXLA_NAMESPACE::vulkan
