// Which iterations are hold-outs: nothing is filled in them, so that they measure the baseline.
//
// All ranks, gates and readers of a trace must agree without talking, hence a pure function of the
// iteration number. Iterations form blocks of `block_iterations`, blocks form groups of `one_in`, and
// in each group exactly one block, chosen by a hash of the group's number, is held out. So hold-outs
// stay close to the filled iterations that they are compared with, and follow no period that the main
// job could have of its own. block 1, one_in 16: single iterations. block 4, one_in 2: pairs of blocks.
//
// From iteration `early_iterations` on, fewer are needed: of the held-out blocks of `one_in_late /
// one_in` neighbouring groups only one stays, again chosen by a hash. The change hangs on the iteration
// number and not on what some node has measured, or ranks would disagree.
//
// Pure.
#ifndef CLIENT_PAGES_HOLD_OUT_H_
#define CLIENT_PAGES_HOLD_OUT_H_

#include <cstdint>

namespace pipefill {

struct HoldOut {
  uint32_t block_iterations = 1;
  uint32_t one_in = 16;  // 0 = no hold-outs; 1 = nothing is ever filled
  uint64_t early_iterations = 0;
  uint32_t one_in_late = 0;  // a multiple of one_in; 0 = one_in for good
};

// Finaliser of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
inline uint64_t HashGroup(uint64_t group) {
  uint64_t z = group + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

inline bool IsHeldOut(const HoldOut& hold_out, uint64_t iteration) {
  if (hold_out.one_in == 0) return false;
  const uint64_t block =
      iteration / (hold_out.block_iterations == 0 ? 1 : hold_out.block_iterations);
  const uint64_t group = block / hold_out.one_in;
  if (block % hold_out.one_in != HashGroup(group) % hold_out.one_in) return false;
  const uint64_t groups = hold_out.one_in_late / hold_out.one_in;
  if (groups < 2 || iteration < hold_out.early_iterations) return true;
  return group % groups == HashGroup(~(group / groups)) % groups;
}

}  // namespace pipefill

#endif  // CLIENT_PAGES_HOLD_OUT_H_
