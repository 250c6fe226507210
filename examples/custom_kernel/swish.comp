// y = x / (1 + exp(-beta x)), an element at a time. `beta` is what the instruction states in its backend_config;
// exponential_f32 is one of vxla's own functions (shaders/include/math), whose bound docs/reference/accuracy.md states.
void vxla_element(uint i) {
  float x = IN0(i);
  SET_OUT0(i, x / (1.0 + exponential_f32(-ATTR_beta * x)));
}
