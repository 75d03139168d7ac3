// How doubtful each label of a row is, and the labels in order of doubt: as many as are asked for.
#pragma once
#if defined(_MSC_VER)
#include <intrin.h>
#endif

#include "probability.hpp"

namespace toplist {

constexpr std::size_t WORD = 64;

struct Bits {
  std::uint64_t at[WORD] = {};
  constexpr Bits() {
    for (std::size_t j = 0; j < WORD; ++j) at[j] = std::uint64_t{1} << j;
  }
};
constexpr Bits BIT;

// Up to 64 answers as the bits of a word, the first lowest.
template <class F>
TOPLIST_INLINE std::uint64_t to_word(std::size_t count, F&& is) {
  std::uint64_t word = 0;
  if (count == WORD)
    for (std::size_t j = 0; j < WORD; ++j) word |= BIT.at[j] & -static_cast<std::uint64_t>(is(j));
  else
    for (std::size_t j = 0; j < count; ++j) word |= BIT.at[j] & -static_cast<std::uint64_t>(is(j));
  return word;
}

TOPLIST_INLINE std::size_t lowest_bit(std::uint64_t word) {
#if defined(_MSC_VER)
  unsigned long at;
  _BitScanForward64(&at, word);
  return at;
#else
  return static_cast<std::size_t>(__builtin_ctzll(word));
#endif
}

// The doubt of a label is q = min(p, 1 - p); of log-odds z it is -|z|, which rises as q does.
template <bool LOGIT, class T>
class Doubts {
  static constexpr std::size_t FIRST = 16, FEW = 40;  // labels that are brought in order at first; without branches

  struct Label {
    double doubt;
    std::int32_t at;
    bool operator<(const Label& o) const { return (doubt > o.doubt) | ((doubt == o.doubt) & (at < o.at)); }
  };

  std::size_t width_, most_;
  const T* p_ = nullptr;
  std::vector<double> doubts_;    // of every label, and some more that are sure
  std::vector<double> peaks_, costs_;
  std::vector<Label> labels_;     // the most doubtful ones; the first `sorted_` are in order
  std::size_t sorted_ = 0, used_ = 0;
  bool more_ = true;              // are there perhaps more that can be flipped?

  // A doubt that at least `wanted` labels are above, and not many more: of the largest doubts in groups of labels the
  // `wanted`-th largest, found by counting. None at all where most labels are wanted.
  TOPLIST_INLINE double threshold(std::size_t wanted) {
    constexpr std::size_t SIDE = 16, TRIES = 24;
    const std::size_t width = width_;
    if (width <= 2 * wanted) return SURE;
    const std::size_t groups = (std::min(width, std::max<std::size_t>(4 * wanted, 64)) + SIDE - 1) / SIDE * SIDE;
    if (peaks_.size() < groups) peaks_.resize(groups);
    double* peaks = peaks_.data();
    const double* doubts = doubts_.data();
    std::copy(doubts, doubts + groups, peaks);
    for (std::size_t from = groups; from < width; from += groups) {
      const std::size_t here = std::min(groups, width - from);
      for (std::size_t g = 0; g < here; ++g) peaks[g] = doubts[from + g] > peaks[g] ? doubts[from + g] : peaks[g];
    }
    double low = SURE, high = LOGIT ? 0.0 : 0.5;
    for (std::size_t tries = 0; tries < TRIES; ++tries) {
      const double middle = low > SURE ? 0.5 * (low + high) : LOGIT ? 2.0 * high - 1.0 : high / 16.0;
      std::int64_t above = 0;
      for (std::size_t g = 0; g < groups; ++g) above += peaks[g] > middle;
      const std::size_t count = static_cast<std::size_t>(above);
      (count >= wanted ? low : high) = middle;
      if (count >= wanted && count <= wanted + wanted / 4) break;
    }
    return low;
  }

  // Sorts labels that rise by counting how many come before each: nothing to guess.
  TOPLIST_INLINE void sort_few(std::size_t n) {
    constexpr std::size_t STEP = 8;
    const std::size_t end = (n + STEP - 1) / STEP * STEP;
    Label few[FEW];
    double doubts[FEW];
    std::int64_t numbers[FEW];
    for (std::size_t j = 0; j < n; ++j) few[j] = labels_[j], doubts[j] = few[j].doubt;
    for (std::size_t j = n; j < end; ++j) doubts[j] = -std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < end; ++j) numbers[j] = static_cast<std::int64_t>(j);
    for (std::size_t j = 0; j < n; ++j) {
      const double mine = doubts[j];
      std::int64_t place = 0;
      for (std::size_t i = 0; i < end; ++i)
        place += (doubts[i] > mine) | ((doubts[i] == mine) & (numbers[i] < static_cast<std::int64_t>(j)));
      labels_[static_cast<std::size_t>(place)] = few[j];
    }
  }

  // Brings the `wanted` most doubtful labels in order, or somewhat more.
  TOPLIST_INLINE void sort(std::size_t wanted) {
    const double least = threshold(wanted), *doubts = doubts_.data();
    const std::size_t width = width_;
    std::size_t n = 0;
    for (std::size_t from = 0; from < width; from += WORD) {
      const double* here = doubts + from;
      std::uint64_t word = to_word(std::min(WORD, width - from), [=](std::size_t j) { return here[j] > least; });
      if (labels_.size() < n + WORD) labels_.resize(2 * n + WORD);
      const auto append = [&] {
        const std::size_t j = word != 0 ? lowest_bit(word) : 0;
        labels_[n] = {here[j], static_cast<std::int32_t>(from + j)};
        n += word != 0;
        word &= word - 1;
      };
      append();  // two without asking: most words have one or none
      append();
      while (word != 0) append();
    }
    more_ = least > SURE || n > 2 * wanted;
    if (n > 2 * wanted) {
      std::nth_element(labels_.begin(), labels_.begin() + static_cast<std::ptrdiff_t>(wanted),
                       labels_.begin() + static_cast<std::ptrdiff_t>(n));
      n = wanted;
      std::sort(labels_.begin(), labels_.begin() + static_cast<std::ptrdiff_t>(n));
    } else if (n <= FEW) {
      sort_few(n);
    } else {
      std::sort(labels_.begin(), labels_.begin() + static_cast<std::ptrdiff_t>(n));
    }
    if (costs_.size() < n) costs_.resize(n);
    sorted_ = n;
  }

 public:
  static constexpr double SURE = LOGIT ? -1e300 : 0.0;  // no doubt: the label is never flipped

  // At most so many labels are asked for in order.
  Doubts(std::size_t width, std::size_t most) : width_(width), most_(most), doubts_((width + SIDES - 1) / SIDES * SIDES, SURE) {}

  static TOPLIST_INLINE bool is_on(double x) { return LOGIT ? x > 0.0 : x > 0.5; }
  static TOPLIST_INLINE double doubt(double x) {
    const double other = LOGIT ? -x : 1.0 - x;
    return x < other ? x : other;
  }

  // The chance that a label is flipped.
  static TOPLIST_INLINE double chance(double doubt) {
    if constexpr (!LOGIT) return doubt;
    const double odds = exp_below(doubt);
    return odds / (1.0 + odds);
  }

  // log((1 - q) / q)
  static double cost(double doubt) {
    if constexpr (LOGIT) return 0.0 - doubt;
    if (doubt > 0.25) return std::log1p((1.0 - 2.0 * doubt) / doubt);
    return doubt > 1e-300 ? std::log((1.0 - doubt) / doubt) : -std::log(doubt);
  }

  // Takes up a row, and folds the keys of the labels that are on; false if a value is none.
  TOPLIST_INLINE bool read(const T* p, const std::int64_t* keys, std::int64_t& code) {
    std::int64_t folded = 0, fine = -1;
    const std::size_t width = width_;
    double* doubts = doubts_.data();
    for (std::size_t j = 0; j < width; ++j) {
      const double x = p[j];
      doubts[j] = doubt(x);
      folded ^= keys[j] & -static_cast<std::int64_t>(is_on(x));
      fine &= -static_cast<std::int64_t>(LOGIT ? x == x : (x >= 0.0) & (x <= 1.0));
    }
    code = folded;
    p_ = p;
    sorted_ = used_ = 0;
    more_ = true;
    return fine != 0;
  }

  bool is_on(std::size_t at) const { return is_on(static_cast<double>(p_[at])); }

  TOPLIST_INLINE std::size_t count_on() const {
    std::size_t count = 0;
    for (std::size_t j = 0; j < width_; ++j) count += is_on(static_cast<double>(p_[j]));
    return count;
  }

  // Which labels are on, eight a byte.
  TOPLIST_INLINE void pack(std::uint8_t* bits) const {
    for (std::size_t from = 0; from < width_; from += WORD) {
      const std::size_t labels = std::min(WORD, width_ - from);
      const T* here = p_ + from;
      const std::uint64_t word = to_word(labels, [=](std::size_t j) { return is_on(static_cast<double>(here[j])); });
      for (std::size_t b = 0; 8 * b < labels; ++b) *bits++ = static_cast<std::uint8_t>(word >> 8 * b);
    }
  }

  // The cost of flipping all that are on, or infinity once it is above `most`.
  double cost_on(double most) const {
    double sum = 0.0;
    for (std::size_t j = 0; j < width_ && sum <= most; ++j)
      if (is_on(j)) sum += cost(doubt(p_[j]));
    return sum <= most ? sum : std::numeric_limits<double>::infinity();
  }

  // Is there a label of this number, in order of doubt, that can be flipped? To be asked for one after the other.
  TOPLIST_INLINE bool has(std::size_t number) {
    if (number < used_) return true;
    if (number >= sorted_ && more_) sort(std::min(most_, std::max(FIRST, 4 * sorted_)));
    if (number >= sorted_) return false;
    costs_[number] = cost(labels_[number].doubt);
    if (number > 0) costs_[number] = std::max(costs_[number], costs_[number - 1]);  // whatever logarithms round to
    used_ = number + 1;
    return true;
  }
  std::size_t used() const { return used_; }
  TOPLIST_INLINE double cost_of(std::size_t number) const { return costs_[number]; }
  TOPLIST_INLINE std::int32_t label(std::size_t number) const { return labels_[number].at; }
  TOPLIST_INLINE double chance_of(std::size_t number) const { return chance(labels_[number].doubt); }

  // The chances of the labels that have not been asked for. Those that have been cannot be asked for again.
  TOPLIST_INLINE Chances others() {
    for (std::size_t j = 0; j < used_; ++j) doubts_[static_cast<std::size_t>(labels_[j].at)] = SURE;
    Chances chances;
    const double* doubts = doubts_.data();
    add_all(chances, doubts_.size(), [doubts](std::size_t j) { return chance(doubts[j]); });
    return chances;
  }

  // After that: the sum of their odds relative to those of the last that has, where all are next to no numbers.
  double others_by_last() const {
    const double last = labels_[used_ - 1].doubt;
    double sum = 0.0;
    for (std::size_t j = 0; j < width_; ++j)
      if (doubts_[j] > SURE) sum += LOGIT ? std::exp(doubts_[j] - last) : doubts_[j] / last;
    return sum;
  }
};

}  // namespace toplist
