// No memory on the host is a status at every public door, whichever allocation fails: operator new of this program
// fails on request. Programs whose values no host holds say how many bytes they ask for.
#include <gmock/gmock.h>

#include <cstdlib>
#include <functional>
#include <new>

#include "api/verify/diff.h"
#include "backend/cpu/reference/evaluator.h"
#include "core/builder/builder.h"
#include "core/host/guarded.h"
#include "core/ir/module.h"
#include "core/text/hlo_parser.h"
#include "core/text/hlo_printer.h"
#include "scheduler/runtime/client.h"
#include "tests/support/fake_device.h"

namespace {

// Allocations of this thread that still succeed; negative: all of them.
thread_local int64_t allocations_left = -1;
// Whether one allocation fails, or all that follow it too.
thread_local bool one_fails = false;

void* AllocateOrNull(size_t size, size_t alignment) {
  if (allocations_left == 0) {
    if (one_fails) allocations_left = -1;
    return nullptr;
  }
  if (allocations_left > 0) --allocations_left;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(size == 0 ? 1 : size);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* Allocate(size_t size, size_t alignment) {
  if (void* memory = AllocateOrNull(size, alignment)) return memory;
  throw std::bad_alloc();
}

constexpr size_t kPlain = alignof(std::max_align_t);

}  // namespace

// What operator new gives here comes from malloc.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif
void* operator new(size_t size) { return Allocate(size, kPlain); }
void* operator new[](size_t size) { return Allocate(size, kPlain); }
void* operator new(size_t size, std::align_val_t alignment) { return Allocate(size, static_cast<size_t>(alignment)); }
void* operator new[](size_t size, std::align_val_t alignment) { return Allocate(size, static_cast<size_t>(alignment)); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return AllocateOrNull(size, kPlain); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return AllocateOrNull(size, kPlain); }
void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return AllocateOrNull(size, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace VXLA_NAMESPACE {
namespace {

using ::testing::HasSubstr;

constexpr const char* kProgram = R"(HloModule axpy

add {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT r = f32[] add(p, q)
}

ENTRY main {
  x = f32[3] parameter(0)
  y = f32[3] parameter(1)
  s = f32[3] add(x, y)
  m = f32[3] multiply(s, y)
  ROOT result = (f32[3], f32[3]) tuple(s, m)
}
)";

Literal Vector(float first) {
  Literal literal(Shape(ElementType::kF32, {3}));
  for (int64_t i = 0; i < 3; ++i) literal.SetDouble(i, first + static_cast<float>(i));
  return literal;
}

// What a door does, and what it needs beforehand; each attempt starts afresh.
using Door = std::function<Status()>;

// Lets the first allocation behind a door fail, then the second, until the door gets through. Each failure is a status.
void ExpectStatusAtEveryAllocation(const std::function<Door()>& prepare) {
  for (const bool one : {true, false}) {
    int64_t failures = 0;
    for (int64_t allocations = 0;; ++allocations) {
      ASSERT_LT(allocations, 100'000);
      const Door door = prepare();
      one_fails = one;
      allocations_left = allocations;
      const Status status = door();
      const bool through = allocations_left > 0 || (one && allocations_left == 0);
      allocations_left = -1;
      if (status.ok()) {
        if (through) break;
        continue;  // done without: hash tables and sorts fall back to less memory
      }
      ++failures;
      ASSERT_EQ(status.code(), StatusCode::kResourceExhausted) << status.message() << " at allocation " << allocations;
      if (one) {
        ASSERT_THAT(status.message(), HasSubstr("out of host memory")) << allocations;
      }
    }
    EXPECT_GT(failures, 3);
  }
}

template <typename T>
Status StatusOf(const Result<T>& result) {
  return result.status();
}

std::unique_ptr<Module> Program() {
  auto module = ParseHlo(kProgram);
  EXPECT_TRUE(module.ok()) << module.status().message();
  return std::move(*module);
}

TEST(OutOfMemoryTest, ParsingSaysSo) {
  ExpectStatusAtEveryAllocation([]() -> Door { return [] { return StatusOf(ParseHlo(kProgram)); }; });
}

TEST(OutOfMemoryTest, BuildingSaysSo) {
  ExpectStatusAtEveryAllocation([]() -> Door {
    auto builder = std::make_shared<XlaBuilder>("axpy");
    const XlaOp x = Parameter(builder.get(), 0, Shape(ElementType::kF32, {3}));
    const XlaOp sum = Add(x, x);
    return [=] { return StatusOf(builder->Build(sum)); };
  });
}

TEST(OutOfMemoryTest, TheReferenceSaysSo) {
  ExpectStatusAtEveryAllocation([]() -> Door {
    std::shared_ptr<Module> module = Program();
    return [module, x = Vector(1), y = Vector(10)] {
      const Literal* arguments[] = {&x, &y};
      return StatusOf(Evaluate(*module, arguments));
    };
  });
}

std::shared_ptr<Client> NewClient() {
  HostEvaluator evaluate = [](const Instruction& instruction, std::span<const Literal* const> operands) {
    return EvaluateInstruction(instruction, operands);
  };
  return std::make_shared<Client>(std::make_shared<testing::FakeDevice>(), std::move(evaluate));
}

TEST(OutOfMemoryTest, CompilingSaysSo) {
  ExpectStatusAtEveryAllocation([]() -> Door {
    std::shared_ptr<Module> module = Program();
    return [module, client = NewClient()] { return StatusOf(client->Compile(*module)); };
  });
}

TEST(OutOfMemoryTest, UploadingSaysSo) {
  ExpectStatusAtEveryAllocation(
      []() -> Door { return [client = NewClient(), x = Vector(1)] { return StatusOf(client->Upload(x)); }; });
}

TEST(OutOfMemoryTest, DownloadingSaysSo) {
  ExpectStatusAtEveryAllocation([]() -> Door {
    const auto client = NewClient();
    const auto values = client->Upload(Vector(1));
    return [client, value = values->front()] { return StatusOf(value.ToLiteral()); };
  });
}

// A run and its result, given by value and from the device.
TEST(OutOfMemoryTest, RunningSaysSo) {
  ExpectStatusAtEveryAllocation([]() -> Door {
    std::shared_ptr<Executable> executable = *NewClient()->Compile(*Program());
    return [executable, x = Vector(1), y = Vector(10)] {
      const Literal* arguments[] = {&x, &y};
      return StatusOf(executable->Run(arguments));
    };
  });
}

TEST(OutOfMemoryTest, AProgramRunsAgainOnceThereIsMemory) {
  const auto client = NewClient();
  const auto executable = *client->Compile(*Program());
  const Literal x = Vector(1), y = Vector(10);
  const Literal* arguments[] = {&x, &y};
  for (int64_t allocations = 0; allocations < 20; ++allocations) {
    one_fails = true;
    allocations_left = allocations;
    const Status status = executable->Run(arguments).status();
    allocations_left = -1;
    EXPECT_TRUE(status.ok() || status.code() == StatusCode::kResourceExhausted) << status.message();
  }
  const auto result = executable->Run(arguments);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->tuple_elements()[0].GetDouble(2), 15);
}

// Of the reference with itself: no device, all of the judgement.
TEST(OutOfMemoryTest, DiffingSaysSo) {
  ExpectStatusAtEveryAllocation([]() -> Door {
    return [module = std::shared_ptr<Module>(Program()), x = Vector(1), y = Vector(10)] {
      const Literal* arguments[] = {&x, &y};
      DiffOptions options;
      options.device.device = "cpu";
      return StatusOf(Diff(*module, arguments, options));
    };
  });
}

TEST(OutOfMemoryTest, ValuesThatNoHostHoldsSayTheirBytes) {
  const auto module = ParseHlo(R"(HloModule huge
ENTRY main {
  x = f32[] parameter(0)
  ROOT huge = f32[1000000,1000000] broadcast(x), dimensions={}
})");
  ASSERT_TRUE(module.ok()) << module.status().message();
  const Literal one(Shape(ElementType::kF32, {}));
  const Literal* arguments[] = {&one};
  const auto result = Evaluate(**module, arguments);
  EXPECT_EQ(result.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(result.status().message(),
              HasSubstr("broadcast huge of f32[1000000,1000000]: out of host memory: 4000000000000 bytes asked for"));
}

// The system would promise each of them, and end the process once they are written.
TEST(OutOfMemoryTest, ValuesTogetherHoldNoMoreThanTheMachineHas) {
  const int64_t size = int64_t{1} << 36;  // 64 GiB, of which nothing is touched
  std::vector<HostBytes> held;
  const Status status = Guarded([&]() -> Status {
    for (int i = 0; i < 1 << 10; ++i) held.emplace_back(static_cast<size_t>(size));
    return OkStatus();
  });
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("out of host memory: 68719476736 bytes asked for"));
}

TEST(GuardedTest, EveryExceptionHasItsStatus) {
  const auto status_of = [](auto thrown) { return Guarded([&]() -> Status { throw thrown; }); };
  EXPECT_EQ(status_of(std::bad_alloc()).code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(status_of(HostMemoryExhausted(12)).message(), "out of host memory: 12 bytes asked for");
  EXPECT_EQ(status_of(std::length_error("vector")).code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(status_of(std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again))).code(),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(status_of(InternalError("our own")).message(), "our own");
  EXPECT_EQ(status_of(InternalError("our own")).code(), StatusCode::kInternal);
  EXPECT_EQ(status_of(std::out_of_range("far")).message(), "far");
  EXPECT_EQ(status_of(7).message(), "an exception of an unknown type");
}

}  // namespace
}  // namespace VXLA_NAMESPACE
