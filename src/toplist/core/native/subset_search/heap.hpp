// Sets of flipped labels in order of cost.
#pragma once
#include "probability.hpp"

namespace toplist {

// A set on its way: the set found as number `prefix`, with the label `last` flipped too. Labels are counted in order of
// cost. Of two sets that cost the same, the one with fewer flips comes first, then the one whose last flip is cheaper;
// so all sets with fewer of its flips come before a set, and it has no more flips than the logarithm of its place.
struct Set {
  double cost;
  std::uint64_t order;

  static constexpr int BITS = 28;
  static constexpr std::uint64_t MASK = (std::uint64_t{1} << BITS) - 1;

  static TOPLIST_INLINE Set make(double cost, std::size_t flips, std::size_t last, std::size_t prefix) {
    return {cost, std::uint64_t{flips} << 2 * BITS | std::uint64_t{last} << BITS | std::uint64_t{prefix}};
  }
  TOPLIST_INLINE std::size_t flips() const { return static_cast<std::size_t>(order >> 2 * BITS); }
  TOPLIST_INLINE std::size_t last() const { return static_cast<std::size_t>(order >> BITS & MASK); }
  TOPLIST_INLINE std::size_t prefix() const { return static_cast<std::size_t>(order & MASK); }

  // No cost is negative, so costs compare as their bits do.
  TOPLIST_INLINE bool operator<(const Set& o) const {
    const std::uint64_t mine = same_bits<std::uint64_t>(cost), other = same_bits<std::uint64_t>(o.cost);
#if defined(__SIZEOF_INT128__)
    using Wide = unsigned __int128;
    return (Wide{mine} << 64 | order) < (Wide{other} << 64 | o.order);
#else
    return (mine < other) | ((mine == other) & (order < o.order));
#endif
  }
};

// The least set is on top.
class Heap {
  std::vector<Set> sets_;
  std::size_t size_ = 0;

 public:
  explicit Heap(std::size_t room) : sets_(room) {}
  void clear() { size_ = 0; }
  std::size_t size() const { return size_; }
  const Set* data() const { return sets_.data(); }
  const Set& top() const { return sets_[0]; }

  TOPLIST_INLINE void push(Set set) {
    std::size_t at = size_++;
    Set* s = sets_.data();
    while (at > 0) {
      const std::size_t up = (at - 1) / 2;
      if (!(set < s[up])) break;
      s[at] = s[up];
      at = up;
    }
    s[at] = set;
  }

  // Puts a set in the place of the one on top.
  TOPLIST_INLINE void replace(Set set) {
    std::size_t at = 0, down = 1;
    Set* s = sets_.data();
    while (down + 1 < size_) {
      down += s[down + 1] < s[down];
      if (!(s[down] < set)) break;
      s[at] = s[down];
      at = down;
      down = 2 * at + 1;
    }
    if (down + 1 == size_ && s[down] < set) {
      s[at] = s[down];
      at = down;
    }
    s[at] = set;
  }

  TOPLIST_INLINE void pop() {
    const Set set = sets_[--size_];
    if (size_ > 0) replace(set);
  }
};

}  // namespace toplist
