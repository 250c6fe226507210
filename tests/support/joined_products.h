// Products that compute several arrays as one, and take them apart: of attention, of gates, of tokens in a row. Of
// integers, so that devices agree to the bit.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/devices/array_sharding.h"

namespace VXLA_NAMESPACE::testing {

// Axes by dimension as "x y|" for [{x, y}, {}]; a dimension that ends with ? is open, with p1 of that priority. +x: x
// is unreduced.
inline ArraySharding Said(const std::shared_ptr<const DeviceMesh>& mesh, std::string_view text) {
  ArraySharding sharding;
  sharding.mesh = mesh;
  DimensionSharding dimension;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || text[i] == '|') {
      sharding.dimensions.push_back(std::move(dimension));
      dimension = {};
    } else if (text[i] == '?') {
      dimension.is_open = true;
    } else if (text[i] == 'p') {
      dimension.priority = text[++i] - '0';
    } else if (text[i] == '+') {
      sharding.unreduced.push_back({std::string(1, text[++i])});
    } else if (text[i] != ' ') {
      dimension.axes.push_back({std::string(1, text[i])});
    }
  }
  return sharding;
}

struct JoinedProduct {
  std::string name, text;
  std::vector<std::string> parameters, results;  // over a mesh of x, 2 devices, and y, 4
  std::string exchanges;                         // what each device sends, of attention before the sum over heads
};

// Attention of eight heads behind arrays q, k and v, whose last dimension is the heads' and theirs.
inline std::string Attention() {
  return R"(
  h = s32[4,24,8,4] reshape(q)
  i = s32[4,24,8,4] reshape(k)
  j = s32[4,24,8,4] reshape(v)
  s = s32[4,8,24,24] dot(h, i), lhs_batch_dims={0,2}, rhs_batch_dims={0,2}, lhs_contracting_dims={3}, rhs_contracting_dims={3}
  r = s32[4,8,24,4] dot(s, j), lhs_batch_dims={0,1}, rhs_batch_dims={0,2}, lhs_contracting_dims={3}, rhs_contracting_dims={1}
  t = s32[4,24,8,4] transpose(r), dimensions={0,2,1,3}
  u = s32[4,24,32] reshape(t)
  ROOT e = s32[4,24,16] dot(u, o), lhs_contracting_dims={2}, rhs_contracting_dims={0}
})";
}

inline std::vector<JoinedProduct> JoinedProducts() {
  const std::string given = R"(ENTRY e {
  x = s32[4,24,16] parameter(0)
  w = s32[16,96] parameter(1)
  o = s32[32,16] parameter(2)
  y = s32[4,24,96] dot(x, w), lhs_contracting_dims={2}, rhs_contracting_dims={0})";
  return {
      {"attention, three products",
       R"(ENTRY e {
  x = s32[4,24,16] parameter(0)
  a = s32[16,32] parameter(1)
  b = s32[16,32] parameter(2)
  c = s32[16,32] parameter(3)
  o = s32[32,16] parameter(4)
  q = s32[4,24,32] dot(x, a), lhs_contracting_dims={2}, rhs_contracting_dims={0}
  k = s32[4,24,32] dot(x, b), lhs_contracting_dims={2}, rhs_contracting_dims={0}
  v = s32[4,24,32] dot(x, c), lhs_contracting_dims={2}, rhs_contracting_dims={0})" +
           Attention(),
       {"x||", "|y", "|y", "|y", "y|"},
       {"x||"},
       "\n\nall-reduce: 1, 4608 bytes"},
      {"attention, by slices",
       given + R"(
  q = s32[4,24,32] slice(y), slice={[0:4],[0:24],[0:32]}
  k = s32[4,24,32] slice(y), slice={[0:4],[0:24],[32:64]}
  v = s32[4,24,32] slice(y), slice={[0:4],[0:24],[64:96]})" +
           Attention(),
       {"x||", "|y", "y|"},
       {"x||"},
       "collective-permute: 2, 1024 bytes"},
      {"attention, by a reshape",
       given + R"(
  z = s32[4,24,3,32] reshape(y)
  a = s32[4,24,1,32] slice(z), slice={[0:4],[0:24],[0:1],[0:32]}
  b = s32[4,24,1,32] slice(z), slice={[0:4],[0:24],[1:2],[0:32]}
  c = s32[4,24,1,32] slice(z), slice={[0:4],[0:24],[2:3],[0:32]}
  q = s32[4,24,32] reshape(a)
  k = s32[4,24,32] reshape(b)
  v = s32[4,24,32] reshape(c))" +
           Attention(),
       {"x||", "|y", "y|"},
       {"x||"},
       "collective-permute: 2, 1024 bytes"},
      {"queries in groups",
       R"(ENTRY e {
  x = s32[4,24,16] parameter(0)
  w = s32[16,96] parameter(1)
  o = s32[64,16] parameter(2)
  y = s32[4,24,96] dot(x, w), lhs_contracting_dims={2}, rhs_contracting_dims={0}
  q = s32[4,24,64] slice(y), slice={[0:4],[0:24],[0:64]}
  k = s32[4,24,16] slice(y), slice={[0:4],[0:24],[64:80]}
  v = s32[4,24,16] slice(y), slice={[0:4],[0:24],[80:96]}
  h = s32[4,24,4,4,4] reshape(q)
  i = s32[4,24,4,4] reshape(k)
  j = s32[4,24,4,4] reshape(v)
  s = s32[4,4,24,4,24] dot(h, i), lhs_batch_dims={0,2}, rhs_batch_dims={0,2}, lhs_contracting_dims={4}, rhs_contracting_dims={3}
  r = s32[4,4,24,4,4] dot(s, j), lhs_batch_dims={0,1}, rhs_batch_dims={0,2}, lhs_contracting_dims={4}, rhs_contracting_dims={1}
  t = s32[4,24,4,4,4] transpose(r), dimensions={0,2,1,3,4}
  u = s32[4,24,64] reshape(t)
  ROOT e = s32[4,24,16] dot(u, o), lhs_contracting_dims={2}, rhs_contracting_dims={0}
})",
       {"x||", "|y", "y|"},
       {"x||"},
       "collective-permute: 6, 1536 bytes"},
      {"slopes",
       R"(ENTRY e {
  x = s32[4,24,16] parameter(0)
  w = s32[16,96] parameter(1)
  q = s32[4,24,8,4] parameter(2)
  k = s32[4,24,8,4] parameter(3)
  v = s32[4,24,8,4] parameter(4)
  a = s32[4,24,32] reshape(q)
  b = s32[4,24,32] reshape(k)
  c = s32[4,24,32] reshape(v)
  y = s32[4,24,96] concatenate(a, b, c), dimensions={2}
  d = s32[16,96] dot(x, y), lhs_contracting_dims={0,1}, rhs_contracting_dims={0,1}
  n = s32[16,96] add(w, d)
  m = s32[4,24,16] dot(y, w), lhs_contracting_dims={2}, rhs_contracting_dims={1}
  ROOT r = (s32[16,96], s32[4,24,16]) tuple(n, m)
})",
       {"x||", "|y", "x||y|", "x||y|", "x||y|"},
       {"|y", "x||"},
       "collective-permute: 4, 2048 bytes"},
      {"gate",
       R"(ENTRY e {
  x = s32[24,16] parameter(0)
  w = s32[16,64] parameter(1)
  o = s32[32,16] parameter(2)
  y = s32[24,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  z = s32[24,2,32] reshape(y)
  a = s32[24,1,32] slice(z), slice={[0:24],[0:1],[0:32]}
  b = s32[24,1,32] slice(z), slice={[0:24],[1:2],[0:32]}
  g = s32[24,1,32] multiply(a, b)
  h = s32[24,32] reshape(g)
  ROOT e = s32[24,16] dot(h, o), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})",
       {"x|", "|y", "y|"},
       {"x|"},
       "collective-permute: 2, 768 bytes"},
      {"tokens in a row",
       R"(ENTRY e {
  x = s32[4,8,16] parameter(0)
  w = s32[16,32] parameter(1)
  f = s32[32,16] reshape(x)
  y = s32[32,32] dot(f, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  n = s32[32,32] negate(y)
  ROOT r = s32[4,8,32] reshape(n)
})",
       {"x|y|", "|"},
       {"x|y|"},
       "no exchanges"},
  };
}

}  // namespace VXLA_NAMESPACE::testing
