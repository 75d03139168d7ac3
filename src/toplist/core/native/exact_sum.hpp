// Sums of doubles, and of products of two doubles, without rounding: an accumulator is an integer wide enough for
// every finite double, in units of the smallest one. The order of the additions cannot show.
#pragma once
#include <cstring>

#include "list_view.hpp"

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

// A faster way to the same sums for rows that all go to one accumulator. Every value is cut on grids that get finer:
// what lies on a grid is added up in plain doubles, which is exact as long as the sum stays below 2**53 grid steps.
// What is left after the last grid, of values much smaller than the largest, is added the slow way.
constexpr std::size_t CHUNK = 1 << 13;  // values, twice as many for products: their sums stay within 2**53 steps
constexpr int GRIDS = 3, STEPS = 37;    // three grids, 37 bits apart
constexpr int WIDTH = 8;                // sums side by side, for the vector units

struct Grids {
  double magic[GRIDS];  // adding and subtracting this rounds to the grid
  bool usable;

  explicit Grids(double largest) {
    int exponent = 0;
    usable = std::isfinite(largest);  // the product of two finite numbers may not be
    if (usable) std::frexp(largest, &exponent);  // largest < 2**exponent
    usable = usable && exponent < 900 && exponent - GRIDS * STEPS > -900;
    for (int g = 0; g < GRIDS; ++g) magic[g] = usable ? std::ldexp(1.5, exponent - (g + 1) * STEPS + 52) : 0.0;
  }
};

struct Lanes {
  double sum[GRIDS][WIDTH] = {};
  double left[WIDTH];

  TOPLIST_INLINE void add(int lane, double x, const Grids& grids) {
    for (int g = 0; g < GRIDS; ++g) {
      const double on = (x + grids.magic[g]) - grids.magic[g];
      sum[g][lane] += on;
      x -= on;
    }
    left[lane] = x;
  }
  TOPLIST_INLINE bool rest() const {
    double any = 0.0;
    for (int l = 0; l < WIDTH; ++l) any += left[l] < 0 ? -left[l] : left[l];
    return any != 0.0;
  }
  TOPLIST_INLINE void flush(Accumulator& to) const {
    for (const auto& grid : sum)
      for (const double s : grid) to.add(s);
  }
};

TOPLIST_INLINE double largest_of(const double* x, std::size_t n) {
  double most[WIDTH] = {};
  std::size_t i = 0;
  for (; i + WIDTH <= n; i += WIDTH)
    for (int l = 0; l < WIDTH; ++l) {
      const double size = std::fabs(x[i + l]);
      most[l] = size > most[l] ? size : most[l];
    }
  for (; i < n; ++i) most[0] = std::max(most[0], std::fabs(x[i]));
  return *std::max_element(most, most + WIDTH);
}

TOPLIST_INLINE void add_all(const double* x, std::size_t n, Accumulator& to) {
  const Grids grids(largest_of(x, n));
  std::size_t i = 0;
  if (grids.usable) {
    Lanes lanes;
    for (; i + WIDTH <= n; i += WIDTH) {
      for (int l = 0; l < WIDTH; ++l) lanes.add(l, x[i + l], grids);
      if (lanes.rest())
        for (const double left : lanes.left) to.add(left);
    }
    lanes.flush(to);
  }
  for (; i < n; ++i) to.add(x[i]);
}

TOPLIST_INLINE void add_all_products(const double* x, const double* y, std::size_t n, Accumulator& to) {
  const Grids grids(largest_of(x, n) * largest_of(y, n));
  std::size_t i = 0;
  if (grids.usable) {
    Lanes products, errors;
    for (; i + WIDTH <= n; i += WIDTH) {
      for (int l = 0; l < WIDTH; ++l) {
        const double product = x[i + l] * y[i + l];
        const double error = std::fma(x[i + l], y[i + l], -product);
        products.add(l, product, grids);
        errors.add(l, product >= EXACT || product <= -EXACT ? error : 0.0, grids);
      }
      if (products.rest() || errors.rest())
        for (int l = 0; l < WIDTH; ++l) {
          to.add(products.left[l]);
          to.add(errors.left[l]);
        }
    }
    products.flush(to);
    errors.flush(to);
  }
  for (; i < n; ++i) to.add_product(x[i], y[i]);
}

// Adds up columns, then products of pairs of columns, of the rows of each group.
TOPLIST_INLINE void accumulate(const double* columns, std::size_t stride, std::size_t count, std::size_t rows,
                               const std::int32_t* left, const std::int32_t* right, std::size_t products,
                               const std::int32_t* codes, std::size_t width, Accumulator* out) {
  if (!codes) {
    for (std::size_t lo = 0; lo < rows; lo += CHUNK) {
      const std::size_t n = std::min(CHUNK, rows - lo);
      for (std::size_t c = 0; c < count; ++c) add_all(columns + c * stride + lo, n, out[c]);
      for (std::size_t p = 0; p < products; ++p)
        add_all_products(columns + left[p] * stride + lo, columns + right[p] * stride + lo, n, out[count + p]);
    }
    return;
  }
  for (std::size_t c = 0; c < count; ++c) {
    const double* x = columns + c * stride;
    for (std::size_t i = 0; i < rows; ++i) out[codes[i] * width + c].add(x[i]);
  }
  for (std::size_t p = 0; p < products; ++p) {
    const double *x = columns + left[p] * stride, *y = columns + right[p] * stride;
    for (std::size_t i = 0; i < rows; ++i) out[codes[i] * width + count + p].add_product(x[i], y[i]);
  }
}

// Sums of numbers below 2**30 in units of 2**-60, by group, which are no longer than they must be: every number is cut
// off there, and adds whole steps of 2**-14 to one integer and the rest to another. 2**17 rows do not overflow them.
constexpr double STEPS_PER_ONE = 0x1p14, UNITS_PER_ONE = 0x1p60;

TOPLIST_INLINE void fixed_sums(const double* columns, std::size_t stride, std::size_t count, std::size_t rows,
                               const std::int32_t* codes, std::int64_t* out) {
  for (std::size_t i = 0; i < rows; ++i) {
    std::int64_t* to = out + 2 * count * static_cast<std::size_t>(codes[i]);
    for (std::size_t c = 0; c < count; ++c) {
      const double x = columns[c * stride + i];
      const std::int64_t steps = static_cast<std::int64_t>(x * STEPS_PER_ONE);
      to[2 * c] += steps;
      to[2 * c + 1] += static_cast<std::int64_t>((x - static_cast<double>(steps) / STEPS_PER_ONE) * UNITS_PER_ONE);
    }
  }
}

}  // namespace toplist
