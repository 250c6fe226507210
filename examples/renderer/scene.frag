#version 450
// The ground that the simulation makes, lit by `rays` random rays to a wide sun and as many to the sky. train.py draws
// its pictures by the same formulas. Positions are in points of the simulation, two pixels each.
layout(location = 0) out vec4 colour_and_height;
layout(set = 0, binding = 0) uniform sampler2D state;
layout(push_constant) uniform Frame {
  uint number;
  uint rays;
};

// Bilinear, periodic.
float Height(vec2 at) {
  const ivec2 size = textureSize(state, 0);
  at -= 0.5;
  const vec2 corner = floor(at), part = at - corner;
  const ivec2 low = ivec2(mod(corner, vec2(size))), high = ivec2(mod(corner + 1, vec2(size)));
  const float upper = mix(texelFetch(state, low, 0).g, texelFetch(state, ivec2(high.x, low.y), 0).g, part.x);
  const float lower = mix(texelFetch(state, ivec2(low.x, high.y), 0).g, texelFetch(state, high, 0).g, part.x);
  return 12 * mix(upper, lower, part.y);
}

uvec4 Mixed(uvec4 v) {
  v.x += v.y * v.w;
  v.y += v.z * v.x;
  v.z += v.x * v.y;
  v.w += v.y * v.z;
  return v;
}
// Jarzynski and Olano, "Hash Functions for GPU Rendering" (2020): pcg4d.
vec4 Random(uvec4 v) {
  v = v * 1664525u + 1013904223u;
  v = Mixed(v);
  v = Mixed(v ^ (v >> 16u));
  return vec4(v >> 8u) / 16777216.0;
}

float Ray(vec2 at, float ground, vec3 normal, vec3 towards, float spread, vec2 random) {
  const float angle = 6.2831853 * random.y;
  const vec3 way = normalize(towards + spread * sqrt(random.x) * vec3(cos(angle), sin(angle), 0));
  float t = 0.35;
  for (int i = 0; i < 8; ++i, t *= 1.5) {
    if (Height(at + t * way.xy) >= ground + t * way.z + 0.02) return 0;
  }
  return max(dot(way, normal), 0);
}

void main() {
  const vec2 at = gl_FragCoord.xy / 2;
  const float ground = Height(at), e = 0.25;
  const vec3 normal = normalize(vec3(Height(at - vec2(e, 0)) - Height(at + vec2(e, 0)),
                                     Height(at - vec2(0, e)) - Height(at + vec2(0, e)), 2 * e));
  vec3 light = vec3(0);
  for (uint i = 0; i < rays; ++i) {
    const vec4 random = Random(uvec4(gl_FragCoord.xy, number, i));
    light += Ray(at, ground, normal, vec3(-0.5, -0.6, 0.7), 0.35, random.xy) * vec3(1.5, 1.25, 0.9);
    light += Ray(at, ground, normal, vec3(0, 0, 0.5), 1.0, random.zw) * vec3(0.35, 0.5, 0.75);
  }
  const vec3 albedo = mix(vec3(0.25, 0.42, 0.5), vec3(0.9, 0.5, 0.3), clamp(ground / 4, 0, 1));
  colour_and_height = vec4(light / rays * albedo, ground / 4);
}
