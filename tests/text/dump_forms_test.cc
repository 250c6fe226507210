// The forms of instructions as XLA's own dumps write them, asynchronous ones above all: each reads, prints and reads
// back equal, and verifies.
#include "core/passes/base/verifier.h"
#include "tests/text/text_test_support.h"

namespace VXLA_NAMESPACE {
namespace dump_forms_test {

constexpr std::string_view kComputations = R"(
add { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT r = f32[] add(x, y) }
neg { x = f32[8]{0} parameter(0)
  ROOT r = f32[8]{0} negate(x) }
)";

// An operation written as op-start, op-update and op-done: the op with its operands' shapes, its result's shape and its
// attributes.
struct Sugar {
  std::string_view op, operands, shapes, result, attributes;
};
constexpr Sugar kSugars[] = {
    {"slice", "f32[8]{0} x", "f32[8]{0}", "f32[4]{0:S(5)}", ", slice={[0:4]}"},
    {"dynamic-slice", "f32[8]{0} x, s32[] i", "f32[8]{0}, s32[]", "f32[2]{0}", ", dynamic_slice_sizes={2}"},
    {"dynamic-update-slice", "f32[8]{0} x, f32[2]{0} u, s32[] i", "f32[8]{0}, f32[2]{0}, s32[]", "f32[8]{0}", ""},
    {"reduce-scatter", "f32[8]{0} x", "f32[8]{0}", "f32[4]{0}",
     ", channel_id=3, replica_groups=[1,2]<=[2], dimensions={0}, use_global_device_ids=true, to_apply=add"},
    {"all-to-all", "f32[8]{0} x", "f32[8]{0}", "f32[8]{0}", ", replica_groups={{0,1}}, dimensions={0}"},
    {"collective-broadcast", "f32[8]{0} x", "f32[8]{0}", "f32[8]{0}", ", replica_groups={{0,1}}"},
    {"call", "f32[8]{0} x", "f32[8]{0}", "f32[8]{0}", ", to_apply=neg"},
    {"fusion", "f32[8]{0} x", "f32[8]{0}", "f32[8]{0}", ", kind=kLoop, calls=neg"},
    {"custom-call", "f32[8]{0} x", "f32[8]{0}", "(f32[8]{0}, s32[])", ", custom_call_target=\"f\""},
    {"reduce", "f32[8]{0} x, f32[] z", "f32[8]{0}, f32[]", "f32[]", ", dimensions={0}, to_apply=add"},
};

void ExpectReadsAndVerifies(const std::string& text) {
  const std::unique_ptr<Module> module = RoundTrip(text);
  ASSERT_NE(module, nullptr);
  const Status verified = Verify(*module);
  EXPECT_TRUE(verified.ok()) << verified.message() << "\n" << text;
}

std::string InEntry(std::string_view body) {
  return fmt::format(
      "HloModule m, replica_count=2\n{}ENTRY e {{\n  x = f32[8]{{0}} parameter(0)\n  u = f32[2]{{0}} parameter(1)\n"
      "  i = s32[] parameter(2)\n  z = f32[] parameter(3)\n  {}\n}}\n",
      kComputations, body);
}

TEST(DumpFormsTest, AsynchronousSugarOfAnyOperation) {
  for (const Sugar& s : kSugars) {
    for (const bool repeats : {false, true}) {  // the later steps may repeat the attributes
      const std::string_view again = repeats ? s.attributes : "";
      ExpectReadsAndVerifies(InEntry(fmt::format(
          "s = (({0}), {1}, s32[]) {2}-start({3}){4}, async_execution_thread=\"side\", metadata={{op_name=\"a\"}}\n"
          "  t = (({0}), {1}, s32[]) {2}-update((({0}), {1}, s32[]) s){5}\n  ROOT d = {1} {2}-done(t){5}, "
          "backend_config={{\"k\":[1,2]}}",
          s.shapes, s.result, s.op, s.operands, s.attributes, again)));
    }
  }
}

TEST(DumpFormsTest, OpcodesWithStartsOfTheirOwn) {
  for (const std::string_view body :
       {"s = (f32[8]{0}, f32[8]{0}) all-reduce-start(f32[8]{0} x, f32[8]{0} x), channel_id=1, replica_groups={{0,1}}, "
        "use_global_device_ids=true, to_apply=add\n  ROOT d = (f32[8]{0}, f32[8]{0}) all-reduce-done(s)",
        "s = ((f32[8]{0}, f32[2]{0}), (f32[16]{0}, f32[4]{0})) all-gather-start(x, u), channel_id=2, "
        "replica_groups=[1,2]<=[2], dimensions={0}, use_global_device_ids=true\n"
        "  ROOT d = (f32[16]{0}, f32[4]{0}) all-gather-done(s)",
        "s = (f32[8]{0}, f32[8]{0}, u32[], u32[]) collective-permute-start(f32[8]{0} %x), channel_id=4, "
        "source_target_pairs={{0,1},{1,0}}\n  ROOT d = f32[8]{0} collective-permute-done(s)",
        "s = (f32[8]{0:S(5)}, f32[8]{0}, u32[]{:S(2)}) copy-start(x), cross_program_prefetch_index=1\n"
        "  ROOT d = f32[8]{0:S(5)} copy-done(s)",
        "t = token[] after-all()\n  s = (f32[8]{0}, u32[], token[]) send(x, t), channel_id=2, is_host_transfer=true, "
        "frontend_attributes={_xla_host_transfer_rendezvous=\"host_compute_dtoh\"}\n"
        "  ROOT d = token[] send-done(s), channel_id=2, is_host_transfer=true",
        "t = token[] after-all()\n  s = (f32[8]{0}, u32[], token[]) recv(t), channel_id=3, "
        "frontend_attributes={_xla_send_recv_source_target_pairs={{0,1},{1,0}}}\n"
        "  ROOT d = (f32[8]{0}, token[]) recv-done(s), channel_id=3, control-predecessors={t}",
        "s = ((f32[8]{0}), f32[8]{0}, u32[]) async-start(x), async_execution_thread=\"main\", calls=neg\n"
        "  ROOT d = f32[8]{0} async-done(s), async_execution_thread=\"main\", calls=neg",
        "s = ((f32[8]{0}), f32[8]{0}, u32[]) async-start(x), output_to_operand_aliasing={{1}: (0, {})}, calls=neg\n"
        "  ROOT d = f32[8]{0} async-done(s), calls=neg",
        "t = token[] after-all()\n  w = token[] after-all(x, t, u)\n  ROOT d = f32[2]{0} add-dependency(u, w)"}) {
    ExpectReadsAndVerifies(InEntry(body));
  }
}

TEST(DumpFormsTest, AttributesAsDumpsWriteThem) {
  for (const std::string_view body :
       {"ROOT r = f32[] reduce(f32[8]{0} %x, f32[] %z), dimensions={0}, to_apply=%add, "
        "metadata={op_type=\"reduce_sum\" op_name=\"jit(f)/reduce_sum\" source_file=\"/a.py\" source_line=3}",
        "ROOT r = f32[4]{0} reduce-window(x, z), window={size=2 stride=2}, to_apply=add",
        "ROOT r = (f32[8]{0}, /*index=1*/s32[8]{0}) sort(x, s32[8]{0} iota.1), dimensions={0}, is_stable=true, "
        "to_apply={ a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = s32[] parameter(2)\n"
        " d = s32[] parameter(3)\n ROOT l = pred[] compare(a, b), direction=LT, type=TOTALORDER }",
        "ROOT r = f32[8]{0} custom-call(x), custom_call_target=\"Sharding\", sharding={devices=[2]<=[2]}, "
        "custom_call_has_side_effect=true, backend_config=\"unspecified_dims=[0]\"",
        "ROOT r = (f32[8]{0}, s32[]) custom-call(x), custom_call_target=\"f\", api_version=API_VERSION_TYPED_FFI, "
        "output_to_operand_aliasing={{0}: (0, {})}, operand_layout_constraints={f32[8]{0}}",
        "ROOT r = f32[8]{0} all-reduce(x), channel_id=1, replica_groups={}, use_global_device_ids=false, "
        "to_apply=add, frontend_attributes={is_sync=\"true\",n={\"a\":1}}"}) {
    std::string text(body);
    if (text.find("iota.1") != std::string::npos) text = "iota.1 = s32[8]{0} iota(), iota_dimension=0\n  " + text;
    ExpectReadsAndVerifies(InEntry(text));
  }
}

// Which dimension takes the live size: the shape says so too, and is what is printed.
TEST(DumpFormsTest, ReshapesMayNameTheirDynamicDimension) {
  ExpectReadsAndVerifies(
      "HloModule m\nENTRY e {\n x = s32[<=12]{0} parameter(0)\n"
      " ROOT r = s32[2,<=3,2]{2,1,0} reshape(x), inferred_dimension=1\n}\n");
}

}  // namespace dump_forms_test
}  // namespace VXLA_NAMESPACE
