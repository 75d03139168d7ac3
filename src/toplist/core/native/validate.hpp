// The door: one pass that checks every value, accumulates the rest mass without rounding error and says
// which lists are valid.
#pragma once
#include <cstring>

#include "list_view.hpp"

namespace toplist {

constexpr double VALIDITY_ATOL = 1e-15;
constexpr double EPS = std::numeric_limits<double>::epsilon();

// What rounding explains, by the significant bits of the numbers as they were given; see Rounding in toplist/core/array_api.py.
struct Rounding {
  double mass;   // how far a mass may be off one
  double share;  // how far a confidence may be below the proxy, relatively
  double entry;  // how far a confidence may be off, relatively
  double rest;   // how far the rest mass may be off
};

TOPLIST_INLINE Rounding rounding(int bits, std::size_t k) {
  const double n = static_cast<double>(k), single = std::max(1e-6, 4.0 * n * 0x1p-24);
  if (bits > 24) return {1e-8, 1e-9, 0x1p-53, std::max(1e-12, n * EPS)};
  if (bits > 11) return {single, 1e-5, 0x1p-24, single};
  const double unit = bits > 8 ? 0x1p-11 : 0x1p-8, off = std::max(4.0 * unit, single);
  return {off, unit, unit, off};
}

// How many significant bits the numbers of a row have, in steps: 11, 24 or 53. Those above 2 do not matter; those below
// the normal range of single precision have its last place.
template <class T>
int significant_bits(const T* t, std::size_t k) {
  std::uint32_t low = 0;
  for (std::size_t j = 0; j < k; ++j) {
    const double v = std::abs(static_cast<double>(t[j]));
    if (!(v <= 2.0) || v == 0.0) continue;
    const float single = static_cast<float>(v);
    if (static_cast<double>(single) != v) return 53;
    std::uint32_t bits;
    std::memcpy(&bits, &single, sizeof bits);
    low |= bits & 0x1FFFu;
  }
  return low == 0 ? 11 : 24;
}

// The twin of beyond in toplist/core/array_api.py.
inline bool beyond(double least, double rest, double unlisted, const Rounding& off) {
  return least < rest / unlisted * (1.0 - off.share) - VALIDITY_ATOL &&
         least * (1.0 + off.entry) + VALIDITY_ATOL < (rest - off.rest) / unlisted;
}

template <class T>
struct RowSum {
  double mass;   // listed mass, rounded
  double slack;  // 1 - listed mass, correct to the last digit
  double least;  // smallest confidence
  bool plain;    // every confidence is a number in [0, 1]
};

template <class T>
TOPLIST_INLINE RowSum<T> sum_row(const T* t, std::size_t k) {
  double total = 0.0, lost = 0.0, least = std::numeric_limits<double>::infinity(), most = 0.0;
  std::size_t j = 0;
  if (k >= LONG) {
    double sum[LANES] = {0, 0, 0, 0}, error[LANES] = {0, 0, 0, 0}, low[LANES], high[LANES] = {0, 0, 0, 0};
    for (double& v : low) v = least;
    for (; j + LANES <= k; j += LANES)
      for (int l = 0; l < LANES; ++l) {
        const double v = t[j + l];
        low[l] = v < low[l] ? v : low[l];
        high[l] = v > high[l] ? v : high[l];
        error[l] += two_sum(sum[l], v);
      }
    for (int l = 0; l < LANES; ++l) {
      lost += two_sum(total, sum[l]) + error[l];
      least = low[l] < least ? low[l] : least;
      most = high[l] > most ? high[l] : most;
    }
  }
  for (; j < k; ++j) {
    const double v = t[j];
    least = v < least ? v : least;
    most = v > most ? v : most;
    lost += two_sum(total, v);
  }
  double rest = 1.0;
  lost -= two_sum(rest, -total);
  // A NaN escapes the comparisons, but not the sum.
  return {total + lost, rest - lost, least, most <= 1.0 && least >= 0.0 && total == total};
}

template <class T>
std::uint16_t name_bad_values(const T* t, std::size_t k, double tolerance) {
  std::uint16_t flag = 0;
  for (std::size_t j = 0; j < k; ++j) {
    const double v = t[j];
    if (!std::isfinite(v)) flag |= NOT_FINITE;
    else if (v < -tolerance) flag |= NEGATIVE;
    else if (v < 0.0) flag |= TINY_NEGATIVE;
    else if (v > 1.0 + tolerance) flag |= ABOVE_ONE;
  }
  return flag;
}

// A class twice. Short rows: two 64-bit filters first, all pairs only where both have seen a class's bits;
// long rows: a small hash table.
template <class C>
class Repeats {
  static constexpr std::size_t SHORT = 24;
  std::vector<C> keys_;
  std::vector<std::uint32_t> stamps_;
  std::uint32_t stamp_ = 0;

 public:
  TOPLIST_INLINE bool operator()(const C* c, std::size_t k) {
    if (k > SHORT) return in_long(c, k);
    std::uint64_t first = 0, second = 0, seen = 0;
    for (std::size_t j = 0; j < k; ++j) {
      const std::uint64_t h = static_cast<std::uint64_t>(c[j]) * 0x9E3779B97F4A7C15ull;
      const std::uint64_t a = h >> 58, b = (h >> 52) & 63;
      seen |= (first >> a) & (second >> b);
      first |= std::uint64_t{1} << a;
      second |= std::uint64_t{1} << b;
    }
    return (seen & 1) != 0 && in_short(c, k);
  }

  static bool in_short(const C* c, std::size_t k) {
    int same = 0;
    for (std::size_t i = 1; i < k; ++i)
      for (std::size_t j = 0; j < i; ++j) same |= c[j] == c[i];
    return same != 0;
  }

 private:
  bool in_long(const C* c, std::size_t k) {
    bool increasing = true;
    for (std::size_t j = 1; j < k && increasing; ++j) increasing = c[j - 1] < c[j];
    if (increasing) return false;
    std::size_t slots = 64;
    while (slots < 2 * k) slots *= 2;
    if (keys_.size() < slots) {
      keys_.assign(slots, 0);
      stamps_.assign(slots, 0);
      stamp_ = 0;
    }
    slots = keys_.size();
    if (++stamp_ == 0) {
      std::fill(stamps_.begin(), stamps_.end(), 0);
      stamp_ = 1;
    }
    for (std::size_t j = 0; j < k; ++j) {
      std::uint64_t h = static_cast<std::uint64_t>(c[j]) * 0x9E3779B97F4A7C15ull;
      std::size_t slot = static_cast<std::size_t>(h >> 20) & (slots - 1);
      while (stamps_[slot] == stamp_) {
        if (keys_[slot] == c[j]) return true;
        slot = (slot + 1) & (slots - 1);
      }
      stamps_[slot] = stamp_;
      keys_[slot] = c[j];
    }
    return false;
  }
};

// As unsigned numbers negative codes are larger than every space that fits.
inline std::uint64_t end_of(double count) {
  return count < 0x1p63 ? static_cast<std::uint64_t>(count) : 0x8000000000000000ull;
}

template <class C>
TOPLIST_INLINE bool any_outside(const C* c, std::size_t k, std::uint64_t end) {
  int outside = 0;
  for (std::size_t j = 0; j < k; ++j)
    outside |= static_cast<std::uint64_t>(static_cast<std::int64_t>(c[j])) >= end;
  return outside != 0;
}

// What is read of a row, before anything is decided about it.
template <class T>
struct RowLook {
  RowSum<T> sum;
  bool outside;  // a class is outside the space
  bool twice;    // a class may be there twice: every pair is compared
};

#if defined(__GNUC__)
// Four rows. A class may be there twice where two filters of 64 bits have both seen its bits; below 4,096 classes they are
// exact.
template <class C, class T>
TOPLIST_INLINE void look_at_lanes(const C* c, const T* t, std::size_t k, std::uint64_t end, RowLook<T>* looks) {
  const Doubles zero = {0, 0, 0, 0}, one = {1, 1, 1, 1};
  Doubles total = zero, lost = zero, low = zero + std::numeric_limits<double>::infinity(), high = zero;
  Words first = {0, 0, 0, 0}, second = first, seen = first, outside = first;
  const Words bit = first + 1;
  for (std::size_t j = 0; j < k; ++j) {
    const Doubles v = doubles_at(t + j, k);
    low = v < low ? v : low;
    high = v > high ? v : high;
    lost += two_sum(total, v);
    const Words here = codes_at(c + j, k);
    const Words a = here & 63, b = (here >> 6 ^ here >> 12 ^ here >> 18) & 63;
    seen |= (first >> a) & (second >> b);
    first |= bit << a;
    second |= bit << b;
    outside |= Words(here >= end);
  }
  Doubles rest = one;
  lost -= two_sum(rest, -total);
  for (int l = 0; l < LANES; ++l) {
    const bool plain = high[l] <= 1.0 && low[l] >= 0.0 && total[l] == total[l];
    looks[l] = {{total[l] + lost[l], rest[l] - lost[l], low[l], plain}, outside[l] != 0, (seen[l] & 1) != 0};
  }
}
#else
template <class C, class T>
void look_at_lanes(const C*, const T*, std::size_t, std::uint64_t, RowLook<T>*) {}
#endif

// A row by itself.
template <class C, class T>
TOPLIST_INLINE RowLook<T> look_at_row(const C* c, const T* t, std::size_t k, std::uint64_t end, Repeats<C>& repeats) {
  return {sum_row(t, k), c != nullptr && any_outside(c, k, end), c != nullptr && repeats(c, k)};
}

// The signed rest mass of a row, or the given one, and its flags.
template <class C, class T>
TOPLIST_INLINE std::uint16_t judge(const Lists<C, T>& lists, std::size_t i, std::size_t k, const RowLook<T>& look, int bits,
                                   double& slack) {
  const std::int64_t start = lists.offsets[i];
  const T* t = lists.confidences + start;
  const double tolerance = rounding(bits, k).mass;
  const double unlisted = lists.space.count(i) - static_cast<double>(k);
  const bool full = unlisted == 0.0;
  const RowSum<T>& row = look.sum;
  std::uint16_t flag = row.plain ? 0 : name_bad_values(t, k, tolerance);
  double rest = row.slack, log_rest = 0.0;
  const bool given = lists.log_rest != nullptr && !full;
  if (given) {
    log_rest = lists.log_rest[i];
    rest = std::exp(log_rest);
    flag |= KNOWN_REST;
    if (!(std::abs(rest - row.slack) <= tolerance)) flag |= MASS;
  } else {
    if (full && !(std::abs(rest) <= tolerance)) flag |= NOT_FULL;
    if (!full && rest < -tolerance) flag |= MASS;
    if (!full && rest > 0.0 && rest <= static_cast<double>(k) * EPS) rest = 0.0;  // rounding, not mass
  }
  if (unlisted < 0.0) flag |= TOO_LONG;
  if (look.outside) flag |= OUTSIDE;
  if (look.twice) flag |= TWICE;
  if (k > 0 && unlisted > 0.0 && (rest > 0.0 || given)) {
    const bool direct = std::isfinite(unlisted) && rest > std::numeric_limits<double>::min();
    if (direct ? row.least * unlisted < rest
               : below_proxy(row.least, unlisted, log_unlisted(unlisted, lists.space.log_count(i)), rest,
                             given ? log_rest : std::log(rest))) {
      flag |= BELOW;
      if (beyond(row.least, rest, unlisted, rounding(bits, k)) &&
          beyond(row.least, rest, unlisted, rounding(std::min(bits, significant_bits(t, k)), k)))
        flag |= INVALID;
    }
  }
  slack = rest;
  return flag;
}

// Fills `slack` (the signed 1 - mass, or the given rest mass) and `flags`; returns all flags ored together. `bits` are
// the significant bits of the numbers as they were given.
template <class C, class T>
TOPLIST_INLINE std::uint16_t inspect(const Lists<C, T>& lists, int bits, double* slack, std::uint16_t* flags) {
  Repeats<C> repeats;
  RowLook<T> looks[LANES];
  std::uint16_t all = 0;
  for (std::size_t i = 0, rows = 1; i < lists.rows; i += rows) {
    const std::int64_t start = lists.offsets[i];
    const std::size_t k = static_cast<std::size_t>(lists.offsets[i + 1] - start);
    const C* c = lists.classes == nullptr ? nullptr : lists.classes + start;
    const T* t = lists.confidences + start;
    const std::uint64_t end = end_of(lists.space.count(i));
    rows = c != nullptr && lists.space.stride == 0 && fill_lanes(lists.offsets, i, lists.rows) ? LANES : 1;
    if (rows == 1) looks[0] = look_at_row(c, t, k, end, repeats);
    else look_at_lanes(c, t, k, end, looks);
    for (std::size_t l = 0; l < rows; ++l) {
      if (rows > 1 && looks[l].twice) looks[l].twice = Repeats<C>::in_short(c + l * k, k);
      all |= flags[i + l] = judge(lists, i + l, k, looks[l], bits, slack[i + l]);
    }
  }
  return all;
}

}  // namespace toplist
