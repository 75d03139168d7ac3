// Chances of independent events, kept from both sides: that none of them happens, and that any does. Neither is one
// minus the other, so that both have all their digits.
#pragma once
#include <cstring>

#include "../list_view.hpp"

namespace toplist {

template <class To, class From>
TOPLIST_INLINE To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "as many bits");
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

// exp(x) of a number that is not positive, to about one unit in the last place, in a form that vector units can do.
// Below the smallest normal number it is zero.
TOPLIST_INLINE double exp_below(double x) {
  constexpr double MAGIC = 0x1.8p52, LOG2E = 0x1.71547652b82fep0;
  constexpr double HIGH = 0x1.62e42fee00000p-1, LOW = 0x1.a39ef35793c76p-33;  // together log(2)
  const double shifted = x * LOG2E + MAGIC, n = shifted - MAGIC;              // n is in the low bits, too
  const double r = (x - n * HIGH) - n * LOW, s = r * r;
  const double a = (1.0 / 2 + r * (1.0 / 6)) + s * (1.0 / 24 + r * (1.0 / 120));
  const double b = (1.0 / 720 + r * (1.0 / 5040)) + s * (1.0 / 40320 + r * (1.0 / 362880));
  const double c = (1.0 / 3628800 + r * (1.0 / 39916800)) + s * (1.0 / 479001600 + r * (1.0 / 6227020800));
  const double y = 1.0 + (r + s * (a + (s * s) * (b + (s * s) * c)));
  const double scale = same_bits<double>((same_bits<std::uint64_t>(shifted) + 1023) << 52);
  const std::uint64_t normal = -static_cast<std::uint64_t>(x >= -708.0);
  return same_bits<double>(same_bits<std::uint64_t>(y * scale) & normal);
}

// For any number of events, each with a chance of at most one half.
class Chances {
  static constexpr double SMALL = 0x1p-500;
  double none_ = 1.0, any_ = 0.0, logs_ = 0.0;
  bool surely_ = false;  // does any happen, but for a chance that is too small for a number?

 public:
  // Adds up to 512 events by the chance that none of them happens, and that any does.
  TOPLIST_INLINE void add(double none, double any) {
    any_ += none_ * any;
    none_ *= none;
    if (none_ < SMALL) {
      logs_ += std::log(none_);
      none_ = 1.0;
      surely_ = true;
    }
  }

  double any() const { return surely_ ? 1.0 : any_; }

  double log_none() const {
    if (surely_) return logs_ + std::log(none_);
    return any_ < 0.5 ? std::log1p(-any_) : std::log(none_);
  }
};

// How many run side by side, more than there are registers, so that none waits for its own last step; and how many
// events until they are put together.
constexpr std::size_t SIDES = 64, EVENTS = 512;

// Adds events with the chances q(0), q(1), ..., of which there is a multiple of SIDES.
template <class F>
TOPLIST_INLINE void add_all(Chances& chances, std::size_t count, F&& q) {
  for (std::size_t from = 0; from < count; from += EVENTS) {
    const std::size_t to = std::min(count, from + EVENTS);
    double none[SIDES], any[SIDES];
    for (std::size_t l = 0; l < SIDES; ++l) any[l] = q(from + l);
    for (std::size_t l = 0; l < SIDES; ++l) none[l] = 1.0 - any[l];
    for (std::size_t j = from + SIDES; j < to; j += SIDES)
      for (std::size_t l = 0; l < SIDES; ++l) {
        const double first = none[l] * q(j + l);
        any[l] += first;
        none[l] -= first;
      }
    for (std::size_t half = SIDES / 2; half > 0; half /= 2)
      for (std::size_t l = 0; l < half; ++l) {
        any[l] += none[l] * any[l + half];
        none[l] *= none[l + half];
      }
    chances.add(none[0], any[0]);
  }
}

}  // namespace toplist
