// The numbers by which MLIR bytecode says what an attribute or a type is: the first varint of its body. Each dialect
// counts for itself.
#pragma once

#include <cstdint>

namespace VXLA_NAMESPACE::mlir {

enum class BuiltinAttribute : uint64_t {
  kArray = 0,
  kDictionary = 1,
  kString = 2,
  kTypedString = 3,
  kFlatSymbol = 4,
  kType = 6,
  kUnit = 7,
  kInteger = 8,
  kFloat = 9,
  kUnknownLocation = 15,
  kDenseResource = 16,
  kDenseArray = 17,
  kDenseElements = 18,
};

enum class BuiltinType : uint64_t {
  kInteger = 0,
  kIndex = 1,
  kFunction = 2,
  kBf16 = 3,
  kF16 = 4,
  kF32 = 5,
  kF64 = 6,
  kComplex = 9,
  kNone = 12,
  kTensor = 13,
  kTensorWithEncoding = 14,
  kTuple = 15,
  kUnrankedTensor = 18,
  kTf32 = 21,
  kF8E5M2 = 22,
  kF8E4M3 = 23,
  kF8E4M3FN = 24,
  kF8E5M2FNUZ = 25,
  kF8E4M3FNUZ = 26,
  kF8E4M3B11FNUZ = 27,
  kF8E3M4 = 28,
  kF4E2M1FN = 29,
  kF6E2M3FN = 30,
  kF6E3M2FN = 31,
  kF8E8M0FNU = 32,
};

enum class VhloAttribute : uint64_t {
  kArray = 1,
  kBool = 2,
  kComparisonDirection = 3,
  kComparisonType = 4,
  kApiVersion = 5,
  kDictionary = 6,
  kFftType = 7,
  kFloat = 8,
  kInteger = 9,
  kOutputOperandAlias = 10,
  kPrecision = 11,
  kRngAlgorithm = 12,
  kRngDistribution = 13,
  kString = 14,
  kTensor = 15,
  kTranspose = 16,
  kType = 17,
  kTypeExtensions = 18,
  kResultAccuracyMode = 19,
  kResultAccuracy = 20,
  kSubAxisInfo = 21,
  kAxisRef = 22,
  kReplicaGroupMeshAxes = 23,
  kMeshAxis = 24,
  kMesh = 25,
};

enum class VhloType : uint64_t {
  kBool = 0,
  kComplex = 1,
  kBf16 = 2,
  kF16 = 3,
  kF32 = 4,
  kF64 = 5,
  kF8E4M3FN = 6,
  kF8E5M2 = 7,
  kFunction = 8,
  kIndex = 9,
  kI4 = 10,
  kI8 = 11,
  kI16 = 12,
  kI32 = 13,
  kI64 = 14,
  kUi4 = 15,
  kUi8 = 16,
  kUi16 = 17,
  kUi32 = 18,
  kUi64 = 19,
  kTensor = 20,
  kTensorWithEncoding = 21,
  kToken = 22,
  kTuple = 23,
  kQuantized = 24,
  kUnrankedTensor = 25,
  kWitness = 26,
  kF8E4M3FNUZ = 27,
  kF8E5M2FNUZ = 28,
  kF8E4M3B11FNUZ = 29,
  kQuantizedPerAxis = 30,
  kI2 = 31,
  kUi2 = 32,
  kNone = 33,
  kTf32 = 34,
  kF8E4M3 = 35,
  kF8E3M4 = 36,
  kF4E2M1FN = 37,
  kF6E2M3FN = 38,
  kF6E3M2FN = 39,
  kF8E8M0FNU = 40,
  kBuffer = 41,
  kFuture = 42,
};

enum class StablehloAttribute : uint64_t {
  kChannelHandle = 1,
  kComparisonDirection = 2,
  kComparisonType = 3,
  kConvDimensionNumbers = 4,
  kDotDimensionNumbers = 5,
  kFftType = 6,
  kGatherDimensionNumbers = 7,
  kPrecision = 8,
  kRngAlgorithm = 9,
  kRngDistribution = 10,
  kScatterDimensionNumbers = 11,
  kTranspose = 12,
  kTypeExtensions = 13,
  kOutputOperandAlias = 14,
  kDotAlgorithm = 15,
  kResultAccuracyMode = 16,
  kResultAccuracy = 17,
  kReplicaGroupMeshAxes = 18,
  kSubAxisInfo = 19,
  kAxisRef = 20,
  kMeshAxis = 21,
  kMesh = 22,
};

// Shardy's, as far as they are looked into.
enum class SdyAttribute : uint64_t { kMeshAxis = 1, kMesh = 2 };

enum class StablehloType : uint64_t { kToken = 0 };

enum class ChloAttribute : uint64_t { kComparisonDirection = 0, kComparisonType = 1 };

}  // namespace VXLA_NAMESPACE::mlir
