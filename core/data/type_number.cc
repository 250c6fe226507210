#include "core/data/type_number.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace VXLA_NAMESPACE {
namespace {

constexpr std::pair<ElementType, int32_t> kTypeNumbers[] = {
    {ElementType::kPred, 1},        {ElementType::kS1, 30},         {ElementType::kS2, 26},
    {ElementType::kS4, 21},         {ElementType::kS8, 2},          {ElementType::kS16, 3},
    {ElementType::kS32, 4},         {ElementType::kS64, 5},         {ElementType::kU1, 31},
    {ElementType::kU2, 27},         {ElementType::kU4, 22},         {ElementType::kU8, 6},
    {ElementType::kU16, 7},         {ElementType::kU32, 8},         {ElementType::kU64, 9},
    {ElementType::kF16, 10},        {ElementType::kF32, 11},        {ElementType::kF64, 12},
    {ElementType::kBF16, 16},       {ElementType::kC64, 15},        {ElementType::kC128, 18},
    {ElementType::kToken, 17},      {ElementType::kF8E5M2, 19},     {ElementType::kF8E3M4, 29},
    {ElementType::kF8E4M3, 28},     {ElementType::kF8E4M3FN, 20},   {ElementType::kF8E4M3B11FNUZ, 23},
    {ElementType::kF8E5M2FNUZ, 24}, {ElementType::kF8E4M3FNUZ, 25}, {ElementType::kF4E2M1FN, 32},
    {ElementType::kF8E8M0FNU, 33},  {ElementType::kF6E2M3FN, 1000}, {ElementType::kF6E3M2FN, 1001}};

}  // namespace

int32_t TypeNumber(ElementType type) {
  const auto* at = std::ranges::find(kTypeNumbers, type, &std::pair<ElementType, int32_t>::first);
  return at == std::end(kTypeNumbers) ? 0 : at->second;
}

std::optional<ElementType> TypeOfNumber(int32_t number) {
  const auto* at = std::ranges::find(kTypeNumbers, number, &std::pair<ElementType, int32_t>::second);
  return at == std::end(kTypeNumbers) ? std::nullopt : std::optional(at->first);
}

}  // namespace VXLA_NAMESPACE
