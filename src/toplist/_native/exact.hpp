// Sums of doubles, and of products of two doubles, without rounding: an accumulator is an integer wide enough for
// every finite double, in units of the smallest one. The order of the additions cannot show.
#pragma once
#include <cstring>

#include "rows.hpp"

namespace toplist {

constexpr std::size_t DIGITS = 72;      // of 32 bits, kept in 64: room for 2**31 additions between carries
constexpr double EXACT = 0x1p-960;      // below this the rounding error of a product is no double itself

struct Accumulator {
  std::int64_t digit[DIGITS] = {};

  TOPLIST_INLINE void add(double x) {
    std::uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    const std::uint64_t exponent = bits >> 52 & 0x7ff;
    std::uint64_t mantissa = bits & 0xfffffffffffffULL;
    if (exponent) mantissa |= 0x10000000000000ULL;
    const std::uint64_t place = exponent ? exponent - 1 : 0;
    const std::size_t at = place >> 5;
    const unsigned shift = place & 31;
    const std::int64_t sign = -static_cast<std::int64_t>(bits >> 63);  // 0 or -1: (v ^ sign) - sign negates
    const std::uint64_t low = mantissa & 0xffffffffULL, high = mantissa >> 32;
    const std::uint64_t first = low << shift, second = high << shift;
    const auto put = [sign](std::int64_t& to, std::uint64_t v) { to += (static_cast<std::int64_t>(v) ^ sign) - sign; };
    put(digit[at], first & 0xffffffffULL);
    put(digit[at + 1], (first >> 32) + (second & 0xffffffffULL));
    put(digit[at + 2], second >> 32);
  }

  TOPLIST_INLINE void add_product(double x, double y) {
    const double product = x * y;
    add(product);
    if (product >= EXACT || product <= -EXACT) add(std::fma(x, y, -product));
  }

  // The integer in two's complement, least significant byte first.
  void write(unsigned char* bytes) const {
    std::int64_t carry = 0;
    for (std::size_t d = 0; d < DIGITS; ++d) {
      const std::int64_t value = digit[d] + carry;
      const std::uint32_t low = static_cast<std::uint32_t>(value & 0xffffffffLL);
      carry = (value - static_cast<std::int64_t>(low)) / (std::int64_t{1} << 32);
      for (int b = 0; b < 4; ++b) bytes[4 * d + b] = static_cast<unsigned char>(low >> 8 * b);
    }
  }
};

// Adds up columns, then products of pairs of columns, of the rows of each group.
TOPLIST_INLINE void accumulate(const double* columns, std::size_t stride, std::size_t count, std::size_t rows,
                               const std::int32_t* left, const std::int32_t* right, std::size_t products,
                               const std::int32_t* codes, std::size_t width, Accumulator* out) {
  for (std::size_t c = 0; c < count; ++c) {
    const double* x = columns + c * stride;
    for (std::size_t i = 0; i < rows; ++i) out[(codes ? codes[i] * width : 0) + c].add(x[i]);
  }
  for (std::size_t p = 0; p < products; ++p) {
    const double *x = columns + left[p] * stride, *y = columns + right[p] * stride;
    for (std::size_t i = 0; i < rows; ++i) out[(codes ? codes[i] * width : 0) + count + p].add_product(x[i], y[i]);
  }
}

}  // namespace toplist
