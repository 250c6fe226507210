// Lists in texts: items between brackets, with commas between them.
#pragma once

#include <string_view>
#include <type_traits>
#include <vector>

#include "core/status.h"

namespace VXLA_NAMESPACE {

// From behind the opening bracket to the one that closes it; `item` gives a Status.
template <typename Lexer, typename Item>
Status TakeItems(Lexer& lexer, std::string_view close, Item item) {
  for (bool more = true; more && !lexer.At(close); more = lexer.Eat(",")) VXLA_RETURN_IF_ERROR(item());
  return lexer.Expect(close);
}
template <typename Lexer, typename Item>
Status TakeList(Lexer& lexer, std::string_view open, std::string_view close, Item item) {
  VXLA_RETURN_IF_ERROR(lexer.Expect(open));
  return TakeItems(lexer, close, item);
}
// The values of an `item` that gives Results.
template <typename Lexer, typename Item>
auto TakeListOf(Lexer& lexer, std::string_view open, std::string_view close, Item item)
    -> Result<std::vector<std::remove_cvref_t<decltype(*item())>>> {
  std::vector<std::remove_cvref_t<decltype(*item())>> values;
  VXLA_RETURN_IF_ERROR(TakeList(lexer, open, close, [&]() -> Status {
    VXLA_ASSIGN_OR_RETURN(values.emplace_back(), item());
    return OkStatus();
  }));
  return values;
}

}  // namespace VXLA_NAMESPACE
