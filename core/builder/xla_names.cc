#include "core/builder/xla_names.h"

#include "core/data/float_formats.h"

namespace VXLA_NAMESPACE::LiteralUtil {

Literal MinValue(PrimitiveType type) {
  if (IsFloating(type)) return Literal::Scalar(type, HasInfinity(type) ? -HUGE_VAL : -MaxFinite(type));
  return Literal::ScalarInt(type, IsSigned(type) ? MinSigned(type) : 0);
}

Literal MaxValue(PrimitiveType type) {
  if (IsFloating(type)) return Literal::Scalar(type, HasInfinity(type) ? HUGE_VAL : MaxFinite(type));
  return Literal::ScalarInt(type, IsSigned(type) ? MaxSigned(type) : static_cast<int64_t>(MaxUnsigned(type)));
}

}  // namespace VXLA_NAMESPACE::LiteralUtil
