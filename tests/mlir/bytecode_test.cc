// MLIR bytecode: the container byte by byte, artifacts of every version, and what damaged ones are refused for.
#include <random>

#include "core/mlir/bytecode/container.h"
#include "core/mlir/dense_text.h"
#include "core/mlir/importer/dynamic_program.h"
#include "tests/mlir/mlir_test_support.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

// Version 4 and the producer "x", sections 1, 3, 2 and 4 without a byte, then section 0 with "a" and "bc".
std::string SmallBytecode() {
  const std::string head("ML\xefR\x09x\0", 7), sections("\x01\x01\x03\x01\x02\x01\x04\x01", 8);
  return head + sections + std::string("\x00\x11\x05\x07\x05", 5) + std::string("a\0bc\0", 5);
}

std::string BytecodeMessage(std::string_view bytes) {
  const Result<BytecodeContainer> file = ReadContainer(bytes);
  return file.ok() ? "" : std::string(file.status().message());
}

TEST(BytecodeContainerTest, ReadsSectionsAndStrings) {
  const std::string bytes = SmallBytecode();
  const Result<BytecodeContainer> file = ReadContainer(bytes);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->version, 4);
  EXPECT_EQ(file->producer, "x");
  EXPECT_THAT(file->strings, testing::ElementsAre("a", "bc"));
}

TEST(BytecodeContainerTest, EveryTruncationHasAMessage) {
  const std::string bytes = SmallBytecode();
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_NE(BytecodeMessage(bytes.substr(0, size)), "") << size;
}

TEST(BytecodeContainerTest, EveryChangedByteIsReadOrRefused) {
  const std::string bytes = SmallBytecode();
  int read = 0, refused = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(value);
      const Result<BytecodeContainer> file = ReadContainer(changed);
      if (!file.ok()) {
        ++refused;
        EXPECT_THAT(std::string(file.status().message()), testing::HasSubstr("bytecode")) << at << " " << value;
        continue;
      }
      ++read;
      // What was read lies in the file.
      size_t size = file->producer.size();
      for (const auto& text : file->strings) size += text.size();
      EXPECT_LT(size, changed.size()) << at << " " << value;
    }
  }
  EXPECT_GT(read, 256);  // another producer, other strings
  EXPECT_GT(refused, 2000);
}

TEST(BytecodeContainerTest, NamesWhatIsWrong) {
  std::string bytes = SmallBytecode();
  bytes[4] = 0x0f;
  EXPECT_EQ(BytecodeMessage(bytes), "MLIR bytecode version 7: the newest known is 6");
  bytes[4] = 0x0b;
  EXPECT_EQ(BytecodeMessage(bytes), "MLIR bytecode: no Properties section");
  bytes = SmallBytecode();
  bytes[17] = 0x7f;
  EXPECT_EQ(BytecodeMessage(bytes), "MLIR bytecode: byte 18: 63 strings in 7 bytes");
  bytes = SmallBytecode();
  bytes[9] = 0x01;
  EXPECT_EQ(BytecodeMessage(bytes), "MLIR bytecode: byte 11: a second Dialect section");
}

std::string BytesOf(std::string_view hex) {
  const Result<HostBytes> bytes = ParseHexBytes(hex);
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

// exp(1.5) + a, as StableHLO's serializer writes it for version 1.15 (jaxlib 0.10.2).
std::string Artifact() {
  constexpr std::string_view kHex =
      "4d4cef520d537461626c65484c4f5f76312e31352e3000011d0501050d01030b030b0f13171b1f03351f0701110b131313131313130"
      "30f0b0b0b0b1f170b0307131707027d05111701010117010303170103231701050f1701070f1701090f17010b05030123031d131d15"
      "1f01090000c03f290101011d27012903090511030103010904690501500301070459030105035005030704450309130303070005420"
      "905030107460b070301030309060d03010505010b040f0307060301050100b917030b05150f1f19110f0b116275696c74696e007668"
      "6c6f006d6f64756c650066756e635f763100636f6e7374616e745f7631006578706f6e656e7469616c5f7632006164645f763100726"
      "57475726e5f7631002d006d61696e0000081d090501010b11131115170319031b";
  return BytesOf(kHex);
}

// The StableHLO dialect itself, as jaxlib 0.10.2 writes it: @main of %a: tensor<2x3xf32> and %b: tensor<3x2xf8E4M3FN>
// gives %a times %b converted to f32, and compare GT, %a, %a, TOTALORDER.
std::string StablehloBytecode() {
  return BytesOf(
      "4d4cef520d4d4c495232332e302e30676974000123070105090d01030f030507130507171b1f032f0d130107070b0b05071f0b0b011"
      "307171717171f070b1702691f0d0b05110b010103050301070505070b1b05090d011b050d090d1b050909011b05090d0f0505030505"
      "07093101091b050d0901047105015001010704610301050350010307044d030b1305050900070601031103030946010503070501050"
      "b4601070309050101050401050709060301050100a1130b1119110f0f150b116275696c74696e0066756e6300737461626c65686c6f"
      "006d6f64756c650072657475726e00636f6e7665727400646f745f67656e6572616c00636f6d70617265006d61696e0008250905010"
      "10d0103010105010701070105130b");
}

// func.func @main(%c: i1, %a: tensor<i32>) -> tensor<i32> {
//   cf.cond_br %c, ^y(%a : tensor<i32>), ^z
// ^y(%e: tensor<i32>):
//   %n = stablehlo.negate %e : tensor<i32>
//   return %n : tensor<i32>
// ^z:
//   return %a : tensor<i32>
// }
std::string BranchBytecode() {
  return BytesOf(
      "4d4cef520d4d4c495232332e302e30676974000127090105090d0b0103130305170705031b07031f031b07090107070b0b01090f0b1"
      "b0f02271f0d0505111b01070109050503010301010202047305015001010704630301050550010307044f07090705050100074c0105"
      "0501030503050b0301000906010301030503040103070503040103030603010501008d130b0f110f0f15070b116275696c74696e006"
      "6756e6300636600737461626c65686c6f006d6f64756c650072657475726e00636f6e645f6272006e6567617465006d61696e000823"
      "070501010d0103010105010b010d030301");
}

// Two all_gathers of int8, as jaxlib 0.10.2 writes them: over axis "y" of a mesh of 2 x 2 by its name, and over the
// last half of an axis of 4, whose devices are 0, 2, 1, 3. In VHLO 1.16, and as the StableHLO dialect itself.
std::string MeshArtifact() {
  return BytesOf(
      "4d4cef520d537461626c65484c4f5f76312e31362e30000121070105090b01030f0303130507171b1f036f471101190b130b0f130b13"
      "13131313130307170f0f05290f0b0b0b0b0b0b0f0b0f0f0b0f0f0f0f8f0f130f01030f050f07131307171313028e0205110303050705"
      "131101111701030305151701050717010707170107271701091517010b1517010d0b05051b1d01031709031909130901030105011d17"
      "230b1d1b1d1d2f2f311d150303332d35011d192f3941333b7f03033d3125111f0f410000000000000000020000000000000001000000"
      "0000000003000000000000000303432d2503452b09090102021729030503290311031d11030503072903090329031109046705015109"
      "030107045503010903400d0307500f0507043903070f030b110005461307030d030105461509030703030904170305060301050100db"
      "1f030b050505250515111d0b0f0b09116275696c74696e007364790076686c6f006d6f64756c65006d65736800616c6c5f6761746865"
      "725f76320066756e635f76310072657475726e5f7631002d006d686c6f2e6e756d5f7265706c69636173006700780079006d61696e00"
      "00082f0b05010105190b0b212721292b091f1f2d23091f1f3723");
}
std::string MeshBytecode() {
  return BytesOf(
      "4d4cef520d4d4c495232332e302e30676974000127090105090d0b01031303031705050b1b07031f035d391101250b0b0f130b0f1313"
      "0b0b13130b130f8f13130307170f0f070f130f13130f130f01110b13130f0f171313026602051105131107010303090b051511091117"
      "010303170105070d0b05171701070717010727090317010915010333250f410000000000000000020000000000000001000000000000"
      "00030000000000000017010b1517010d0b0505272901031909031b092519032d291b00253103352d1d011f2b19112919013727090901"
      "411b0305011b03110101020401020205030303051b0309011b03110704670501510d070107045503010903400f030550150507043903"
      "070f0307170009461b07030d030109462109030503030704230305060301050100cf1d05050b250505170f0b0f150b09116275696c74"
      "696e007364790066756e6300737461626c65686c6f006d6f64756c65006d6573680072657475726e00616c6c5f676174686572002d00"
      "67006d686c6f2e6e756d5f7265706c69636173006d61696e007800790008310b0501010525030d0111010113010905012b010905012f"
      "01");
}

// Operations of arith, tensor and scf with properties of every kind, and the bytecode that jaxlib 0.10.2 makes of it.
constexpr std::string_view kTensorProgram = R"(module {
func.func @main(%a: tensor<2x3xi32>) -> (tensor<1x2xi32>, tensor<2x3xi32>, tensor<6xi32>, tensor<2x3x1xi32>, tensor<3x4xi32>, tensor<1x3xi32>, tensor<4x3xi32>, index, tensor<2x3xi32>, tensor<2x3xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %z = arith.constant 9 : i32
  %i = arith.constant dense<1> : tensor<1x1xindex>
  %s = tensor.extract_slice %a[%c1, 0] [1, 2] [1, 2] : tensor<2x3xi32> to tensor<1x2xi32>
  %t = tensor.insert_slice %s into %a[%c0, 1] [1, 2] [1, 1] : tensor<1x2xi32> into tensor<2x3xi32>
  %f = tensor.collapse_shape %a [[0, 1]] : tensor<2x3xi32> into tensor<6xi32>
  %g = tensor.expand_shape %a [[0], [1, 2]] output_shape [2, 3, 1] : tensor<2x3xi32> into tensor<2x3x1xi32>
  %p = tensor.pad %a low[1, 0] high[0, %c1] {
  ^bb0(%x: index, %y: index):
    tensor.yield %z : i32
  } : tensor<2x3xi32> to tensor<3x?xi32>
  %pc = tensor.cast %p : tensor<3x?xi32> to tensor<3x4xi32>
  %ga = tensor.gather %a[%i] gather_dims([0]) : (tensor<2x3xi32>, tensor<1x1xindex>) -> tensor<1x1x3xi32>
  %gc = tensor.collapse_shape %ga [[0, 1], [2]] : tensor<1x1x3xi32> into tensor<1x3xi32>
  %cc = tensor.concat dim(0) %a, %t : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<4x3xi32>
  %sum = scf.for %k = %c0 to %c2 step %c1 iter_args(%acc = %c1) -> (index) {
    %n = arith.addi %acc, %k : index
    scf.yield %n : index
  }
  %fa = scf.forall (%k) in (2) shared_outs(%o = %t) -> (tensor<2x3xi32>) {
    %row = tensor.extract_slice %a[%k, 0] [1, 3] [1, 1] : tensor<2x3xi32> to tensor<1x3xi32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %row into %o[%k, 0] [1, 3] [1, 1] : tensor<1x3xi32> into tensor<2x3xi32>
    }
  }
  %d = arith.divsi %a, %t : tensor<2x3xi32>
  %k2 = arith.cmpi slt, %d, %a : tensor<2x3xi32>
  %e = arith.extui %k2 : tensor<2x3xi1> to tensor<2x3xi32>
  %fl = arith.uitofp %e : tensor<2x3xi32> to tensor<2x3xf32>
  %m = arith.mulf %fl, %fl : tensor<2x3xf32>
  return %s, %t, %f, %g, %pc, %gc, %cc, %sum, %fa, %m : tensor<1x2xi32>, tensor<2x3xi32>, tensor<6xi32>, tensor<2x3x1xi32>, tensor<3x4xi32>, tensor<1x3xi32>, tensor<4x3xi32>, index, tensor<2x3xi32>, tensor<2x3xf32>
}
}
)";
std::string TensorBytecode() {
  return BytesOf(
      "4d4cef520d4d4c495232332e302e306769740001530b0105090d11310103170305071b050f1f23272b2f333707153b3f43474b4f5357"
      "5b5f090963676b5f03bd892501850b5353530f0f130f3353130b0b13130f130f130f130f132f131353130f13130f1373135353131313"
      "130f131313333313131313131313131313131313131313131313050559590125070f0f17171717131b1717173b07371b170b02a20805"
      "372303052100000000000000800000000000000000230305210100000000000000020000000000000023030521010000000000000001"
      "000000000000001103011103090105090f11030523030311000000000000000023030521010000000000000003000000000000001701"
      "03030d1905391701050317010523110101170107131101051701091311010917010b1311052517010d11251711010000000000000017"
      "010f111701111123030521000000000000008001000000000000001701131101030d1701151101053f4101030901050f0b2303073102"
      "000000000000000300000000000000010000000000000017011711230305210000000000000000000000000000008023030521010000"
      "0000000000000000000000000017011911170121131701231301050d5301030b17012513170127131701291523030311010000000000"
      "00002303031102000000000000001701311317013d1117013f13170141111701431317014511170147071701312b1701315917013319"
      "1701350b1701370f170129251701296b17012b1517012d0b17011b1117011b2717011d0b2361726974682e666173746d6174683c6e6f"
      "6e653e002361726974682e6f766572666c6f773c6e6f6e653e00030102040102021b05090d051b05050d051b05090d1b1b050509051b"
      "0319051b07090d05051b050d11051b05110d051b05050501050307150d070f1113091501070b0b1b050d00ffffffffffffffff051b07"
      "05050d051b05090d23010904760405015015010704520403010503501b0307042604032d5b030f1d0007422105030107422507030107"
      "422909030107422d0b03050742310d03171546330f030d050105194637110307070d010317463b13030f03011b464515031103011d56"
      "4b17031d0501050503050705037f03810027048303091f064d0313031521464f19031f05010b1746551b030903192346571d03150501"
      "0f2956591f0301090307050507042f03070b05037703790013467b2103010503012f047d03052b565f230307030f0503070b05036d0f"
      "6f0015467125030905012d2d1073050301052544752707312f2d0946611f030705010f0b46632903210523010d46651f030703250f46"
      "671f030b03271146692b030b05292905046b150d0f1113171b1d1f212b06030105010012043b0b05270f090d2d0f0f0b091b1b1f1d0b"
      "0b0f0d0b0d130f0f090f0d0b116275696c74696e0066756e630061726974680074656e736f7200736366006d6f64756c650072657475"
      "726e00636f6e7374616e7400646976736900636d7069006578747569007569746f6670006d756c66006164646900657874726163745f"
      "736c69636500636f6c6c617073655f736861706500696e736572745f736c69636500657870616e645f73686170650070616400636173"
      "740067617468657200636f6e63617400706172616c6c656c5f696e736572745f736c696365007969656c6400666f7200666f72616c6c"
      "00666f72616c6c2e696e5f706172616c6c656c002d006d61696e0008c12d0501010d011701011901031f03230327032b032f0f030505"
      "0b030507133505071503030301010339053d430f0147490d030103051101035103090301051e020f01115b5d07050f0f0313070b0305"
      "0713031307150303030101030b07160201");
}

std::string ArtifactError(std::string_view from, std::string_view to) {
  std::string bytes = Artifact();
  const size_t at = bytes.find(from);
  EXPECT_NE(at, std::string::npos);
  bytes.replace(at, from.size(), to);
  const Result<std::unique_ptr<Module>> module = ReadStablehlo(bytes);
  return module.ok() ? "(read)" : std::string(module.status().message());
}

constexpr std::string_view kProgram =
    R"(func.func @main(%a: tensor<4x2xf32>, %i: tensor<1xi32>) -> (tensor<1x2xf32>, tensor<2xi1>, tensor<3xi4>) {
  %0 = stablehlo.exponential %a : tensor<4x2xf32>
  %1 = "stablehlo.gather"(%0, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [0],
      index_vector_dim = 0>, slice_sizes = array<i64: 1, 2>}> : (tensor<4x2xf32>, tensor<1xi32>) -> tensor<1x2xf32>
  %2 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %3 = stablehlo.constant dense<[-8, 7, -1]> : tensor<3xi4>
  return %1, %2, %3 : tensor<1x2xf32>, tensor<2xi1>, tensor<3xi4>
})";

TEST(BytecodeTest, ReadsWhatStablehloWrites) {
  EXPECT_EQ(RunStablehlo(Artifact(), {Literal::FromVector<float>(Shape(ElementType::kF32, {2}), {{1, 2}})}),
            "{5.481689, 6.481689}");
}

TEST(BytecodeTest, ReadsTheStablehloDialectItself) {
  const Literal a = Literal::FromVector<float>(Shape(ElementType::kF32, {2, 3}), {{1, 2, 3, 4, 5, 6}});
  Literal b(Shape(ElementType::kF8E4M3FN, {3, 2}));
  for (int64_t i = 0; i < 6; ++i) b.SetDouble(i, i < 2 ? 1 : 0.5);
  EXPECT_EQ(RunStablehlo(StablehloBytecode(), {a, b}), "({ {3.5, 3.5}, {9.5, 9.5} }, { {0, 0, 0}, {0, 0, 0} })");
}

TEST(BytecodeTest, ReadsBranchesBetweenBlocks) {
  const Literal three = Literal::FromVector<int32_t>(Shape(ElementType::kS32), {{3}});
  EXPECT_EQ(RunStablehlo(BranchBytecode(), {Literal::Scalar(ElementType::kPred, 1), three}), "-3");
  EXPECT_EQ(RunStablehlo(BranchBytecode(), {Literal::Scalar(ElementType::kPred, 0), three}), "3");
}

TEST(BytecodeTest, GroupsOverTheAxesOfAMesh) {
  for (const std::string& bytes : {MeshArtifact(), MeshBytecode()}) {
    const Result<std::unique_ptr<Module>> module = ReadStablehlo(bytes);
    ASSERT_TRUE(module.ok()) << module.status().message();
    EXPECT_THAT(PrintHlo(**module), testing::AllOf(testing::HasSubstr("replica_groups={{0,1},{2,3}}"),
                                                   testing::HasSubstr("replica_groups={{0,2},{1,3}}")));
  }
}

TEST(BytecodeTest, ReadsOtherDialectsWithTheirProperties) {
  const std::vector<Literal> a{Literal::FromVector<int32_t>(Shape(ElementType::kS32, {2, 3}), {{1, -2, 3, 4, 5, -6}})};
  const auto text = ReadStablehlo(kTensorProgram), bytecode = ReadStablehlo(TensorBytecode());
  ASSERT_TRUE(text.ok()) << text.status().message();
  ASSERT_TRUE(bytecode.ok()) << bytecode.status().message();
  const std::string result = ResultOf(**text, a);
  EXPECT_THAT(result, testing::HasSubstr("{1, 4, -6}"));  // what tensor.insert_slice gave
  EXPECT_EQ(ResultOf(**bytecode, a), result);
}

TEST(BytecodeTest, PropertiesThatAreNotKnownAreNamed) {
  std::string bytes = StablehloBytecode();
  bytes.replace(bytes.find("compare"), 7, "compara");
  const Result<std::unique_ptr<Module>> module = ReadStablehlo(bytes);
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.status().message(), "MLIR bytecode: byte 280: the properties of stablehlo.compara are not known");
}

TEST(BytecodeTest, EveryVersionWritesTheSameProgram) {
  const Result<Program> program = ParseMlir(kProgram);
  ASSERT_TRUE(program.ok());
  const std::vector<Literal> arguments = {
      Literal::FromVector<float>(Shape(ElementType::kF32, {4, 2}), {{0, 1, 2, 3, 4, 5, 6, 7}}),
      Literal::FromVector<int32_t>(Shape(ElementType::kS32, {1}), {{2}})};
  const std::string wanted = RunStablehlo(kProgram, arguments);
  for (int number = kOldestVhlo.number; number <= kNewestVhlo.number; ++number) {
    const Result<std::string> bytes = WriteBytecode(*program, VhloVersion{number});
    ASSERT_TRUE(bytes.ok()) << bytes.status().message();
    const Result<std::unique_ptr<Module>> module = ReadStablehlo(*bytes);
    ASSERT_TRUE(module.ok()) << module.status().message();
    EXPECT_EQ(ResultOf(**module, arguments), wanted) << VhloVersion{number}.ToString();
  }
}

TEST(BytecodeTest, OlderVersionsRefuseWhatTheyLack) {
  const auto written = [](std::string_view body, VhloVersion target) {
    const Result<Program> program = ParseMlir(Function(body));
    const Result<std::string> bytes = program.ok() ? WriteBytecode(*program, target) : program.status();
    return bytes.ok() ? std::string() : std::string(bytes.status().message());
  };
  EXPECT_EQ(
      written("(%a: tensor<f32>) -> tensor<f32> {\n %0 = stablehlo.tan %a : tensor<f32>\n return %0 : tensor<f32>\n}",
              VhloVersion::Of(1, 3)),
      "stablehlo.tan: in VHLO since version 1.4.0, 1.3.0 is asked for");
  EXPECT_EQ(written("(%a: tensor<i2>) -> tensor<i2> {\n %0 = stablehlo.not %a : tensor<i2>\n return %0 : tensor<i2>\n}",
                    VhloVersion::Of(1, 1)),
            "func.func: s2 is in VHLO since version 1.2.0, 1.1.0 is asked for");
  EXPECT_EQ(written("(%a: tensor<2xf32>) -> tensor<index> {\n %c = arith.constant 0 : index\n %0 = tensor.dim %a, %c : "
                    "tensor<2xf32>\n return %0 : index\n}",
                    kDefaultVhlo),
            "arith.constant: VHLO has no such operation");
}

TEST(BytecodeTest, ProgramsWithOpenSizesStayOpen) {
  const Result<Program> program =
      ParseMlir(Function("(%a: tensor<?xf32>) -> tensor<?xf32> {\n %0 = stablehlo.add %a, %a : tensor<?xf32>\n return "
                         "%0 : tensor<?xf32>\n}"));
  ASSERT_TRUE(program.ok());
  const Result<std::string> bytes = WriteBytecode(*program);
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  const Result<std::unique_ptr<Module>> module = ParseStablehlo(*bytes);
  ASSERT_TRUE(module.ok()) << module.status().message();
  ASSERT_TRUE(IsDynamicProgram(**module));
  EXPECT_EQ(PrintType(DynamicProgram::Of(**module).parameters()[0]), "tensor<?xf32>");
}

TEST(BytecodeTest, ChloIsTheSameAsAComposite) {
  const std::vector<Literal> argument = {Literal::FromVector<float>(Shape(ElementType::kF32, {2}), {{0.5, -1}})};
  const std::string wanted = RunStablehlo(
      "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n %0 = chlo.erf %a : tensor<2xf32> -> tensor<2xf32>\n "
      "return "
      "%0 : tensor<2xf32>\n}",
      argument);
  EXPECT_EQ(RunStablehlo(R"(func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.composite "chlo.erf" %a {decomposition = @impl} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func private @impl(%a: tensor<2xf32>) -> tensor<2xf32> {
  return %a : tensor<2xf32>
})",
                         argument),
            wanted);
}

TEST(BytecodeTest, NamesWhatIsWrong) {
  using std::string_view_literals::operator""sv;
  EXPECT_THAT(ArtifactError("add_v1", "add_v9"), testing::EndsWith("VHLO up to 1.20.0 has no operation 'vhlo.add_v9'; "
                                                                   "the file is of StableHLO_v1.15.0"));
  EXPECT_EQ(ArtifactError("StableHLO_v1.15.0", "StableHLO_v1.21.0"),
            "the artifact is of VHLO 1.21.0, the newest version known is 1.20.0");
  EXPECT_THAT(ArtifactError("StableHLO_v1.15.0", "StableHLO_v2.0.0"), testing::HasSubstr("is of VHLO 2.0.0"));
  EXPECT_THAT(ArtifactError("\x29\x03\x09\x05"sv, "\x29\x03\x09\x01"sv),
              testing::HasSubstr("nest more than 200 levels"));
  EXPECT_THAT(ArtifactError("\x29\x03\x09\x05"sv, "\x29\x03\x03\x05"sv),
              testing::EndsWith("the size of dimension 0 is -1"));
  EXPECT_THAT(ArtifactError("\x29\x03\x09\x05"sv, "\x29\x03\x09\x07"sv), testing::EndsWith("a type is number 3 of 3"));
  EXPECT_THAT(ArtifactError("\x1f\x01\x09"sv, "\x1f\x01\x07"sv),
              testing::HasSubstr("3 bytes for tensor<2xf32>, which has 8"));
  EXPECT_THAT(ArtifactError("\x03\x09\x13"sv, "\x03\x07\x13"sv),
              testing::EndsWith("a region defines more than the 3 values it states"));
  EXPECT_THAT(ArtifactError("\x0b\x04\x0f\x03\x07"sv, "\x0b\x04\x0f\x03\x0b"sv),
              testing::EndsWith("func.return: operand 0 is value 5, which is not defined there"));
  EXPECT_THAT(ArtifactError("builtin", "builtim"), testing::HasSubstr("builtim.module"));
}

TEST(BytecodeTest, EveryTruncationOfAnArtifactHasAMessage) {
  for (const std::string& whole : {Artifact(), StablehloBytecode(), BranchBytecode()}) {
    for (size_t size = 0; size < whole.size(); ++size)
      EXPECT_NE(StablehloError(whole.substr(0, size)), "(read)") << size;
  }
}

TEST(BytecodeTest, MutationsOfArtifactsAreRefusedOrRead) {
  std::mt19937 random(1);
  const int count = std::getenv("VXLA_TEST_LONG") != nullptr ? 100'000 : 2'000;
  const Result<Program> program = ParseMlir(kProgram);
  const std::string seeds[] = {Artifact(), *WriteBytecode(*program, kNewestVhlo), StablehloBytecode(),
                               BranchBytecode()};
  for (int i = 0; i < count; ++i) {
    std::string bytes = seeds[static_cast<size_t>(i) % std::size(seeds)];
    for (int changes = 1 + static_cast<int>(random() % 3); changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    const Status status = ReadStablehlo(bytes).status();
    EXPECT_NE(status.code(), StatusCode::kInternal) << status.message();
  }
}

}  // namespace
}  // namespace VXLA_NAMESPACE::mlir
