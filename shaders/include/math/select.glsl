// Choices between two values that are both computed: a choice of expressions (c ? f(x) : g(x)) becomes branches, which
// software drivers are slow at; SwiftShader takes twice as long to compile for each further one, so that emulated f64,
// where they would come by the dozen, does without. For conditions likewise and_pred and or_pred.

FN F select_f32(bool condition, float a, float b) {
  return condition ? a : b;
}
FN int select_i32(bool condition, int a, int b) {
  return condition ? a : b;
}
FN uint select_u32(bool condition, uint a, uint b) {
  return condition ? a : b;
}
FN bool select_pred(bool condition, bool a, bool b) {
  return condition ? a : b;
}
FN uvec2 select_words(bool condition, uvec2 a, uvec2 b) {
  return condition ? a : b;
}
