// What every kernel sees of a batch: rows of (class, confidence) behind offsets, and how many classes
// there are. No Python objects, no allocation in the common case, no global state.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

// The file is compiled for the plain instruction set of the platform; on x86-64 with GCC the hot loops are
// also compiled for AVX2 and the better one is picked when the library is loaded.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define TOPLIST_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#define TOPLIST_INLINE inline __attribute__((always_inline))
#else
#define TOPLIST_CLONES
#define TOPLIST_INLINE inline
#endif

namespace toplist {

// One bit for each thing that can be said of a row; the same numbers stand in toplist/core/flags.py.
enum Flag : std::uint16_t {
  BELOW = 1,      // a listed confidence is below the proxy: the largest valid sublist is scored
  INVALID = 2,    // ... by more than rounding explains: the penalty applies
  NOT_FINITE = 4,
  NEGATIVE = 8,
  ABOVE_ONE = 16,
  MASS = 32,      // the listed mass exceeds one, or disagrees with the rest mass that was given
  NOT_FULL = 64,  // every class is listed and the confidences do not sum to one
  TWICE = 128,
  OUTSIDE = 256,
  TOO_LONG = 512,
  TINY_NEGATIVE = 1024,
  KNOWN_REST = 2048,  // the rest mass is known better than as one minus the listed mass
};

struct Space {
  const double* size;      // number of classes as a double: infinite from about 1e308 on
  const double* log_size;  // its logarithm: finite for every finite number of classes
  std::size_t stride;      // 0: the same for all cases, 1: one entry per case
  double count(std::size_t row) const { return size[row * stride]; }
  double log_count(std::size_t row) const { return log_size[row * stride]; }
};

template <class C, class T>
struct Lists {
  const std::int64_t* offsets;  // rows + 1 entries
  const C* classes;             // null: every class, in order
  const T* confidences;
  const double* log_rest;       // null: the rest mass is one minus the listed mass
  Space space;
  std::size_t rows;
};

constexpr int LANES = 4;
constexpr std::size_t LONG = 32;  // from here on four independent sums of a row are faster than one

// Short rows of one length are taken four at a time, a lane each: the additions of one row wait for each other, those of four
// rows do not. For a million rows of ten classes checks take half the time, and scores two thirds.
#if defined(__GNUC__)
constexpr bool HAS_LANES = true;
using Doubles = double __attribute__((vector_size(8 * LANES)));
using Words = std::uint64_t __attribute__((vector_size(8 * LANES)));

template <class T>
TOPLIST_INLINE Doubles doubles_at(const T* t, std::size_t k) {
  return Doubles{double(t[0]), double(t[k]), double(t[2 * k]), double(t[3 * k])};
}

template <class C>
TOPLIST_INLINE Words codes_at(const C* c, std::size_t k) {
  const auto code = [&](std::size_t at) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(c[at])); };
  return Words{code(0), code(k), code(2 * k), code(3 * k)};
}
#else
constexpr bool HAS_LANES = false;
#endif

// Do four rows begin here that have the same length, and are short?
inline bool fill_lanes(const std::int64_t* offsets, std::size_t row, std::size_t rows) {
  if (!HAS_LANES || row + LANES > rows) return false;
  const std::int64_t k = offsets[row + 1] - offsets[row];
  bool same = k < static_cast<std::int64_t>(LONG);
  for (int l = 1; l < LANES; ++l) same &= offsets[row + l + 1] - offsets[row + l] == k;
  return same;
}

// Adds b to a without losing anything: a becomes the rounded sum, the rounding error is returned.
template <class V>
TOPLIST_INLINE V two_sum(V& a, V b) {
  const V s = a + b, part = s - a;
  const V error = (a - (s - part)) + (b - part);
  a = s;
  return error;
}

// Is confidence c below rest / unlisted? Compared as a product, and in logarithms where that under- or overflows.
inline bool below_proxy(double c, double unlisted, double log_unlisted, double rest, double log_rest) {
  if (std::isinf(log_unlisted)) return false;  // every class listed, or infinitely many classes
  if (std::isfinite(unlisted) && rest > std::numeric_limits<double>::min()) return c * unlisted < rest;
  if (!(log_rest > -std::numeric_limits<double>::infinity())) return false;
  return c == 0.0 || std::log(c) + log_unlisted < log_rest;
}

inline double log_unlisted(double unlisted, double log_count) {
  return std::isfinite(unlisted) ? std::log(unlisted) : log_count;
}

// Rows whose mass is divided out: above one within the tolerance, or complete distributions.
inline bool is_scaled(double slack, bool full) { return slack < 0.0 || full; }

}  // namespace toplist
