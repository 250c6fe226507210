// Handlers of the typed FFI and functions of XLA's older signatures, as a shared library has them.
#include <fmt/format.h>

#include <cstring>

#include "backend/cpu/reference/library/ffi_abi.h"
#include "tests/cpu/cpu_test_support.h"

extern "C" void XlaCustomCallStatusSetSuccess(vxla::CustomCallStatus* status);
extern "C" void XlaCustomCallStatusSetFailure(vxla::CustomCallStatus* status, const char* message, size_t size);

namespace VXLA_NAMESPACE::testing {
namespace ffi_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

EvaluateOptions With(const CustomCallRegistry& registry) {
  EvaluateOptions options;
  options.custom_calls = &registry;
  return options;
}

// What every handler does first.
bool AnswersMetadata(ffi::CallFrame* frame, int32_t minor = 1) {
  if (frame->header.extension == nullptr || frame->header.extension->type != ffi::kMetadataExtension) return false;
  auto* extension = reinterpret_cast<ffi::MetadataExtension*>(frame->header.extension);
  extension->metadata->version.major_version = 0;
  extension->metadata->version.minor_version = minor;
  return true;
}
ffi::Error* Fail(ffi::CallFrame* frame, const char* message) {
  ffi::ErrorCreate create{{sizeof(ffi::ErrorCreate), nullptr}, message, 3};
  return frame->api->error_create(&create);
}
const ffi::Buffer& BufferAt(const ffi::Values& values, int k) { return *static_cast<ffi::Buffer*>(values.values[k]); }
template <typename T>
T* DataOf(const ffi::Values& values, int k) {
  return static_cast<T*>(BufferAt(values, k).data);
}

// (f32[2,3], s32[]) of (f32[2,3], pred[4]): scale * x, and what it saw.
ffi::Error* Scale(ffi::CallFrame* frame) {
  if (AnswersMetadata(frame)) return nullptr;
  EXPECT_EQ(frame->header.struct_size, offsetof(ffi::CallFrame, future));
  EXPECT_EQ(frame->stage, ffi::Stage::kExecute);
  EXPECT_EQ(frame->arguments.size, 2);
  EXPECT_EQ(frame->results.size, 2);
  const ffi::Buffer& x = BufferAt(frame->arguments, 0);
  EXPECT_EQ(x.type, 11);
  EXPECT_EQ(x.rank, 2);
  EXPECT_EQ(x.dimensions[1], 3);
  EXPECT_EQ(BufferAt(frame->arguments, 1).type, 1);
  EXPECT_EQ(frame->attributes.size, 4);
  float scale = 0;
  std::string seen;
  for (int64_t i = 0; i < frame->attributes.size; ++i) {
    const ffi::Bytes& name = *frame->attributes.names[i];
    seen += std::string(name.data, name.size) + " ";
    void* const value = frame->attributes.values[i];
    switch (frame->attributes.kinds[i]) {
      case ffi::AttributeKind::kScalar:
        EXPECT_EQ(static_cast<ffi::Scalar*>(value)->type, 11);
        scale = *static_cast<float*>(static_cast<ffi::Scalar*>(value)->value);
        break;
      case ffi::AttributeKind::kString:
        seen += std::string(static_cast<ffi::Bytes*>(value)->data, static_cast<ffi::Bytes*>(value)->size) + " ";
        break;
      case ffi::AttributeKind::kArray:
        EXPECT_EQ(static_cast<ffi::Array*>(value)->type, 5);
        EXPECT_EQ(static_cast<ffi::Array*>(value)->size, 2u);
        seen += fmt::format("{} ", static_cast<int64_t*>(static_cast<ffi::Array*>(value)->data)[1]);
        break;
      case ffi::AttributeKind::kDictionary:
        EXPECT_EQ(static_cast<ffi::Attributes*>(value)->size, 1);
        break;
    }
  }
  EXPECT_EQ(seen, "dict list 9 name left scale ");
  if (scale < 0) return Fail(frame, "the scale is negative");
  for (int i = 0; i < 6; ++i) DataOf<float>(frame->results, 0)[i] = scale * DataOf<float>(frame->arguments, 0)[i];
  *DataOf<int32_t>(frame->results, 1) = DataOf<uint8_t>(frame->arguments, 1)[3];
  return nullptr;
}

std::string ScaleProgram(const std::string& scale, const std::string& version = "API_VERSION_TYPED_FFI") {
  return Entry(
      "x = f32[2,3] parameter(0)\np = pred[4] parameter(1)\n"
      "ROOT r = (f32[2,3], s32[]) custom-call(x, p), custom_call_target=\"scale\", api_version=" +
      version + ", backend_config={name = \"left\", scale = " + scale +
      " : f32, list = array<i64: 8, 9>, dict = {u = 1 : ui8}}");
}

TEST(FfiTest, AHandlerSeesBuffersAndAttributes) {
  CustomCallRegistry registry;
  registry.RegisterFfi("scale", &Scale);
  const std::vector<Literal> arguments{Array(ElementType::kF32, {2, 3}, {1, 2, 3, 4, 5, 6}),
                                       Ints(ElementType::kPred, {4}, {0, 0, 0, 1})};
  const Literal r = RunText(ScaleProgram("2.5"), arguments, With(registry));
  EXPECT_THAT(Doubles(r.tuple_elements()[0]), ElementsAre(2.5, 5, 7.5, 10, 12.5, 15));
  EXPECT_EQ(r.tuple_elements()[1].GetInt(0), 1);
  EXPECT_EQ(TryRun(ScaleProgram("-1.0"), arguments, With(registry)).status().message(),
            "custom-call r: scale failed: the scale is negative");
  EXPECT_EQ(TryRun(ScaleProgram("1.0", "API_VERSION_STATUS_RETURNING"), arguments, With(registry)).status().message(),
            "custom-call r: scale is a handler of the typed FFI, and the instruction does not say "
            "api_version=API_VERSION_TYPED_FFI");
  registry.RegisterSymbol("scale", reinterpret_cast<void*>(&Scale));  // as of a shared library
  EXPECT_TRUE(TryRun(ScaleProgram("2.0"), arguments, With(registry)).ok());
}

ffi::Error* FailWithCode(ffi::CallFrame* frame) {
  if (AnswersMetadata(frame)) return nullptr;
  ffi::ErrorCreate create{{sizeof(ffi::ErrorCreate), nullptr}, "why", *DataOf<int32_t>(frame->arguments, 0)};
  return frame->api->error_create(&create);
}

TEST(FfiTest, AnErrorKeepsItsCode) {
  CustomCallRegistry registry;
  registry.RegisterFfi("fail", &FailWithCode);
  const std::string program = Entry(
      "code = s32[] parameter(0)\nROOT r = s32[] custom-call(code), custom_call_target=\"fail\", "
      "api_version=API_VERSION_TYPED_FFI");
  const std::pair<int, StatusCode> codes[] = {
      {1, StatusCode::kCancelled},    {3, StatusCode::kInvalidArgument},   {4, StatusCode::kDeadlineExceeded},
      {5, StatusCode::kNotFound},     {8, StatusCode::kResourceExhausted}, {10, StatusCode::kAborted},
      {12, StatusCode::kUnsupported}, {13, StatusCode::kInvalidArgument},  {99, StatusCode::kInvalidArgument}};
  for (const auto& [code, expected] : codes) {
    const Status status = TryRun(program, {Ints(ElementType::kS32, {}, {code})}, With(registry)).status();
    EXPECT_EQ(status.code(), expected) << code;
    EXPECT_EQ(status.message(), "custom-call r: fail failed: why");
  }
}

TEST(FfiTest, ATypeHasOneNumber) {
  const int64_t number = CustomCallRegistry::RegisterFfiType("a type of this test", nullptr);
  EXPECT_GT(number, 0);
  EXPECT_EQ(CustomCallRegistry::RegisterFfiType("a type of this test", nullptr), number);
  EXPECT_NE(CustomCallRegistry::RegisterFfiType("another type of this test", nullptr), number);
}

ffi::Error* FromTheFuture(ffi::CallFrame* frame) {
  EXPECT_TRUE(AnswersMetadata(frame, 9));
  return nullptr;
}

// What a handler asks of the runtime: scratch, threads, a state between stages, a result that comes later.
int64_t state_type = 0;
int deleted = 0;
ffi::TypeInfo state_info{{sizeof(ffi::TypeInfo), nullptr}, [](void* object) {
                           delete static_cast<int*>(object);
                           ++deleted;
                         }};
ffi::Error* Instantiate(ffi::CallFrame* frame) {
  ffi::TypeRegister type{{sizeof(ffi::TypeRegister), nullptr}, {"counter", 7}, &state_type, &state_info};
  EXPECT_EQ(frame->api->type_register(&type), nullptr);
  ffi::StateAccess set{
      {sizeof(ffi::StateAccess), nullptr}, frame->context, ffi::Stage::kInstantiate, &state_type, new int(0)};
  EXPECT_EQ(frame->stage, ffi::Stage::kInstantiate);
  return frame->api->state_set(&set);
}
ffi::Error* Count(ffi::CallFrame* frame) {
  if (AnswersMetadata(frame)) return nullptr;
  const ffi::Api& api = *frame->api;
  ffi::StateAccess get{
      {sizeof(ffi::StateAccess), nullptr}, frame->context, ffi::Stage::kInstantiate, &state_type, nullptr};
  if (ffi::Error* error = api.state_get(&get)) return error;
  ffi::MemoryAllocate scratch{{sizeof(ffi::MemoryAllocate), nullptr}, frame->context, 100, 128, nullptr};
  EXPECT_EQ(api.memory_allocate(&scratch), nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(scratch.data) % 128, 0u);
  std::memset(scratch.data, 1, 100);
  ffi::MemoryAllocate odd{{sizeof(ffi::MemoryAllocate), nullptr}, frame->context, 100, 96, nullptr};
  ffi::ErrorGetMessage why{{sizeof(ffi::ErrorGetMessage), nullptr}, api.memory_allocate(&odd), nullptr};
  api.error_get_message(&why);
  EXPECT_STREQ(why.message, "scratch aligned to 96 bytes, no power of two");
  ffi::ErrorDestroy gone{{sizeof(ffi::ErrorDestroy), nullptr}, why.error};
  api.error_destroy(&gone);
  ffi::Schedule task{
      {sizeof(ffi::Schedule), nullptr}, frame->context, [](void* data) { ++*static_cast<int*>(data); }, get.state};
  EXPECT_EQ(api.schedule(&task), nullptr);
  *DataOf<int32_t>(frame->results, 0) = *static_cast<int*>(get.state);
  ffi::FutureCreate future{{sizeof(ffi::FutureCreate), nullptr}, nullptr};
  EXPECT_EQ(api.future_create(&future), nullptr);
  frame->future = future.future;
  if (*static_cast<int*>(get.state) == 3) {
    ffi::FutureSetError error{{sizeof(ffi::FutureSetError), nullptr}, future.future, Fail(frame, "three is too many")};
    return api.future_set_error(&error);
  }
  ffi::FutureSetAvailable done{{sizeof(ffi::FutureSetAvailable), nullptr}, future.future};
  return api.future_set_available(&done);
}

TEST(FfiTest, StagesShareAStateAndResultsMayComeLater) {
  const std::string text = Entry(
      "ROOT r = s32[] custom-call(), custom_call_target=\"count\", api_version=API_VERSION_TYPED_FFI, "
      "backend_config={}");
  {
    CustomCallRegistry registry;
    FfiHandlers handlers;
    handlers.instantiate = reinterpret_cast<void*>(&Instantiate);
    handlers.execute = reinterpret_cast<void*>(&Count);
    registry.RegisterFfi("count", handlers);
    EXPECT_EQ(RunText(text, {}, With(registry)).GetInt(0), 1);
    EXPECT_EQ(RunText(text, {}, With(registry)).GetInt(0), 2);
    EXPECT_EQ(TryRun(text, {}, With(registry)).status().message(), "custom-call r: count failed: three is too many");
    EXPECT_EQ(deleted, 0);
  }
  EXPECT_EQ(deleted, 1);
}

TEST(FfiTest, WhatDoesNotFitIsRefused) {
  CustomCallRegistry registry;
  registry.RegisterFfi("late", &FromTheFuture);
  registry.RegisterFfi("scale", &Scale);
  const auto message = [&](const std::string& lines) {
    return TryRun(Entry(lines), {}, With(registry)).status().message();
  };
  EXPECT_EQ(message("ROOT r = s32[] custom-call(), custom_call_target=\"late\", api_version=API_VERSION_TYPED_FFI"),
            "custom-call r: late failed: the handler was compiled for version 0.9 of the FFI; 0.0 to 0.3 are known");
  EXPECT_EQ(message("ROOT r = s32[] custom-call(), custom_call_target=\"scale\", api_version=API_VERSION_TYPED_FFI, "
                    "backend_config={a = 1 : i99}"),
            "custom-call r: scale failed: backend_config: \"i99\" is no type of numbers");
  EXPECT_EQ(
      message(
          "p = f32[3] constant({1,2,3})\nn = s32[] constant(2)\nd = f32[<=3] set-dimension-size(p, n), dimensions={0}\n"
          "ROOT r = s32[] custom-call(d), custom_call_target=\"scale\", api_version=API_VERSION_TYPED_FFI"),
      "custom-call r: the typed FFI has no arrays of dynamic sizes");
}

// ---- older signatures

void Original(void* out, const void** in) { *static_cast<int32_t*>(out) = 1 + *static_cast<const int32_t*>(in[0]); }
void StatusReturning(void* out, const void** in, CustomCallStatus* status) {
  Original(out, in);
  if (*static_cast<int32_t*>(out) == 0) XlaCustomCallStatusSetFailure(status, "zero\0rest", 9);
  if (*static_cast<int32_t*>(out) == 5) XlaCustomCallStatusSetSuccess(status);
}
void Unified(void* out, const void** in, const char* opaque, size_t size, CustomCallStatus*) {
  Original(out, in);
  *static_cast<int32_t*>(out) += static_cast<int32_t>(opaque[0]) + static_cast<int32_t>(size);
}

TEST(FfiTest, ASymbolIsWhatTheApiVersionSays) {
  CustomCallRegistry registry;
  registry.RegisterSymbol("original", reinterpret_cast<void*>(&Original));
  registry.RegisterSymbol("status", reinterpret_cast<void*>(&StatusReturning));
  registry.RegisterSymbol("unified", reinterpret_cast<void*>(&Unified));
  const auto run = [&](const std::string& target, const std::string& version, int64_t value) {
    return TryRun(Entry("p = s32[] parameter(0)\nROOT r = s32[] custom-call(p), custom_call_target=\"" + target + "\"" +
                        version + ", backend_config=\"xy\""),
                  {Ints(ElementType::kS32, {}, {value})}, With(registry));
  };
  EXPECT_EQ(run("original", "", 3)->GetInt(0), 4);
  EXPECT_EQ(run("original", ", api_version=API_VERSION_ORIGINAL", 3)->GetInt(0), 4);
  EXPECT_EQ(run("status", ", api_version=API_VERSION_STATUS_RETURNING", 4)->GetInt(0), 5);
  EXPECT_EQ(run("status", ", api_version=API_VERSION_STATUS_RETURNING", -1).status().message(),
            "custom-call r: status failed: zero");
  EXPECT_EQ(run("unified", ", api_version=API_VERSION_STATUS_RETURNING_UNIFIED", 3)->GetInt(0), 4 + 'x' + 2);
}

// A handler as XLA's headers make it: it looks at the frame's size before anything else.
ffi::Error* Sized(ffi::CallFrame* frame) {
  static const char* const kName = "Unexpected XLA_FFI_CallFrame size";
  if (frame->header.struct_size != offsetof(ffi::CallFrame, future)) return Fail(frame, kName);
  if (AnswersMetadata(frame)) return nullptr;
  std::memset(BufferAt(frame->results, 0).data, 1, 4);
  return nullptr;
}
// One without that check.
ffi::Error* Unsized(ffi::CallFrame* frame) {
  if (AnswersMetadata(frame)) return nullptr;
  ADD_FAILURE() << "the frame asks for nothing but the version";
  return nullptr;
}
void NumbersOfLeaves(void* out, const void** in) {
  for (int64_t k = 0; k < *static_cast<const int32_t*>(in[0]); ++k)
    *static_cast<int32_t*>(static_cast<void**>(out)[k]) = static_cast<int32_t>(k) + 7;
}

// The instruction that names a handler has to say so. What would be a function's results is the handler's frame: of
// every size and form that does not bring the process down.
TEST(FfiTest, AHandlerThatIsCalledAsAFunctionIsRefused) {
  CustomCallRegistry registry;
  registry.RegisterSymbol("sized", reinterpret_cast<void*>(&Sized));
  registry.RegisterSymbol("unsized", reinterpret_cast<void*>(&Unsized));
  const auto message = [&](const std::string& target, const std::string& shape, const std::string& version) {
    return TryRun(Entry("p = s32[] parameter(0)\nROOT r = " + shape + " custom-call(p), custom_call_target=\"" +
                        target + "\"" + version),
                  {Ints(ElementType::kS32, {}, {3})}, With(registry))
        .status()
        .message();
  };
  const std::string refused =
      "ized is a handler of the typed FFI, and the instruction does not say api_version=API_VERSION_TYPED_FFI";
  for (const char* shape :
       {"s32[]", "s32[0]", "f64[1000]", "()", "(s32[])", "(f32[100], s8[])", "(s32[], s32[2], pred[])",
        "(f32[7], f32[70], f32[700], f32[1])", "(s8[], s8[], s8[], s8[], s8[], s8[])"}) {
    for (const char* target : {"sized", "unsized"}) {
      for (const char* version :
           {"", ", api_version=API_VERSION_STATUS_RETURNING", ", api_version=API_VERSION_STATUS_RETURNING_UNIFIED"}) {
        EXPECT_THAT(message(target, shape, version), HasSubstr(refused)) << target << " " << shape << version;
      }
    }
  }
  EXPECT_EQ(message("sized", "s32[]", ", api_version=API_VERSION_TYPED_FFI"), "");
}

// Functions of the same file: their results are complete, whatever the question put there.
TEST(FfiTest, AFunctionBesideHandlersIsCalledOnce) {
  CustomCallRegistry registry;
  registry.RegisterSymbol("numbers", reinterpret_cast<void*>(&NumbersOfLeaves));
  std::string shape = "s32[]";
  for (int32_t leaves = 1; leaves <= 6; ++leaves, shape += ", s32[]") {
    const Literal r = RunText(
        Entry("p = s32[] parameter(0)\nROOT r = (" + shape + ") custom-call(p), custom_call_target=\"numbers\""),
        {Ints(ElementType::kS32, {}, {leaves})}, With(registry));
    for (int32_t k = 0; k < leaves; ++k) EXPECT_EQ(r.tuple_elements()[static_cast<size_t>(k)].GetInt(0), k + 7);
  }
}

// A result that lies where an operand lies begins as the operand.
TEST(FfiTest, AnAliasedResultBeginsAsTheOperand) {
  CustomCallRegistry registry;
  registry.Register("add_one", [](void* out, const void**) { static_cast<int32_t*>(out)[1] += 1; });
  const Literal r =
      RunText(Entry("p = s32[3] parameter(0)\nROOT r = s32[3] custom-call(p), custom_call_target=\"add_one\", "
                    "output_to_operand_aliasing={{}: (0, {})}"),
              {Ints(ElementType::kS32, {3}, {7, 8, 9})}, With(registry));
  EXPECT_THAT(Integers(r), ElementsAre(7, 9, 9));
}

TEST(FfiTest, AKernelIsNoFunctionOfTheReference) {
  CustomCallRegistry registry;
  registry.RegisterKernel("k", {});
  EXPECT_THAT(
      TryRun(Entry("ROOT r = s32[] custom-call(), custom_call_target=\"k\""), {}, With(registry)).status().message(),
      HasSubstr("custom-call r: \"k\" is a kernel, which runs on devices only; the CPU reference needs a function "
                "beside it (--custom-call k=LIB.so:symbol, CustomCallRegistry::Register)"));
}

}  // namespace
}  // namespace ffi_test
}  // namespace VXLA_NAMESPACE::testing
