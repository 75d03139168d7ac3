// The likeliest sets of labels that occur independently of each other, most probable first, and the mass of all others.
//
// The likeliest set holds every label with a probability above one half. Another set is that one with some labels
// flipped, each at a cost of log((1 - q) / q), where q = min(p, 1 - p). With the labels in order of cost every set but
// the first has one parent: the set without its last flip if the label before that is flipped too, and otherwise the
// one with the last flip moved down by one label. No parent costs more than its child, so a heap of the children of what
// has been found has the next set on top, each set once.
#pragma once
#include "label_order.hpp"
#include "heap.hpp"

namespace toplist {

template <class T>
struct Marginals {
  const T* p;
  std::size_t rows, width;
  const std::int64_t* keys;   // what each label adds, by exclusive or, to the code of a set
  std::size_t most;           // sets to list for each row
  bool empty;                 // false: given that the set is not empty
};

struct Listed {
  std::int32_t* counts;       // sets of each row
  std::int64_t* codes;        // (rows, most), as is
  double* log_p;
  double* log_rest;           // one per row
  std::uint8_t* bits;         // null, or the likeliest set of each row, eight labels a byte; and with that
  std::uint8_t* flip_counts;  // (rows, most), in how many labels each set differs from it
  std::int32_t* flips;        // and in which, set after set
};

// The most flips of a set among so many.
inline std::size_t most_flips(std::size_t sets) {
  std::size_t flips = 0;
  while (sets >>= 1) ++flips;
  return flips;
}

// Why a row has no sets; the same numbers stand in toplist/core/subset_search.py.
enum Refusal : int { FINE = 0, BAD_VALUE = 1, ONLY_EMPTY = 2 };

// The search in one row after the other; its memory is used again.
template <bool LOGIT, class T>
class Search {
  static constexpr double DEEP = 600.0;  // costs above this are of odds that are next to no numbers

  const Marginals<T>& in_;
  const std::size_t most_;            // sets to find, the empty one too where it is not listed
  Doubts<LOGIT, T> doubts_;
  Heap heap_;
  std::vector<Set> found_;
  std::vector<std::int64_t> codes_;   // of what was found
  std::size_t count_ = 0;
  std::size_t on_ = 0, empty_ = 0;    // labels in the likeliest set; where the empty set was found, if that is not listed
  std::vector<double> weights_, terms_;
  std::vector<std::int32_t> flips_;   // of what was found
  std::vector<std::size_t> starts_;

  bool without_empty() const { return empty_ < most_; }

  TOPLIST_INLINE std::int64_t code(const Set& set) const {
    return codes_[set.prefix()] ^ in_.keys[doubts_.label(set.last())];
  }

  // Its code is zero, which may also be a coincidence.
  TOPLIST_INLINE bool is_empty(const Set& set) const {
    if (set.flips() != on_ || code(set) != 0) return false;
    Set s = set;
    for (std::size_t f = set.flips(); f > 0; --f, s = found_[s.prefix()])
      if (!doubts_.is_on(static_cast<std::size_t>(doubts_.label(s.last())))) return false;
    return true;
  }

  // Takes the set on top, and puts its children there.
  TOPLIST_INLINE void take() {
    const Set set = heap_.top();
    const std::size_t place = count_++, next = set.last() + 1;
    found_[place] = set;
    codes_[place] = code(set);
    if (!doubts_.has(next)) return heap_.pop();
    const double cost = doubts_.cost_of(next);
    heap_.replace(Set::make(found_[set.prefix()].cost + cost, set.flips(), next, set.prefix()));
    heap_.push(Set::make(set.cost + cost, set.flips() + 1, next, place));
  }

  // Finds as many sets as are wanted. If the empty set is not wanted and on top at the end, it is taken too: what is
  // left then is never small beside it.
  TOPLIST_INLINE void find(std::int64_t first) {
    heap_.clear();
    found_[0] = {0.0, 0};
    codes_[0] = first;
    count_ = 1;
    empty_ = most_;
    if (doubts_.has(0)) heap_.push(Set::make(doubts_.cost_of(0), 1, 0, 0));
    if (in_.empty) {
      while (heap_.size() > 0 && count_ < in_.most) take();
      return;
    }
    on_ = doubts_.count_on();
    if (on_ == 0) empty_ = 0;
    while (heap_.size() > 0) {
      if (without_empty() && count_ > in_.most) break;
      if (!without_empty() && is_empty(heap_.top())) empty_ = count_;
      else if (!without_empty() && count_ >= in_.most) break;
      take();
    }
  }

  // What is below a set on the heap: the sets that have all its flips but the last, and any from there on. Their mass is
  // exp(-cost) times a weight of the last label: the chance that none of the labels before it is flipped, times V / r,
  // where V is the chance that any label from there on is, and r = q / (1 - q) are the label's own odds. Nothing is
  // subtracted. Returns the log of the chance that no label is flipped.
  TOPLIST_INLINE double weigh() {
    Chances chances = doubts_.others();
    const std::size_t n = doubts_.used();
    if (n == 0) return chances.log_none();
    if (weights_.size() < n) weights_.resize(n);
    const bool deep = doubts_.cost_of(n - 1) > DEEP;
    double above = deep ? doubts_.others_by_last() : 0.0;  // V of the labels after, by r of this one
    for (std::size_t j = n; j-- > 0;) {
      const double q = doubts_.chance_of(j);
      chances.add(1.0 - q, q);
      weights_[j] = deep ? (1.0 - q) * (1.0 + above) : chances.any() * (1.0 - q) / q;
      if (deep && j > 0) above = weights_[j] * std::exp(doubts_.cost_of(j - 1) - doubts_.cost_of(j));
    }
    double none = 1.0;
    for (std::size_t j = 0; j < n; ++j) {
      weights_[j] *= none;
      none *= 1.0 - doubts_.chance_of(j);
    }
    return chances.log_none();
  }

  // The mass of what is below the heap, times the odds of the set on top.
  TOPLIST_INLINE double mass_left() {
    const std::size_t n = heap_.size();
    const Set* sets = heap_.data();
    if (terms_.size() < n) terms_.resize(n);
    double* terms = terms_.data();
    for (std::size_t j = 0; j < n; ++j) terms[j] = sets[0].cost - sets[j].cost;
    for (std::size_t j = 0; j < n; ++j) terms[j] = exp_below(terms[j]);
    double sum = 0.0;
    for (std::size_t j = 0; j < n; ++j) sum += terms[j] * weights_[sets[j].last()];
    return sum;
  }

  // Writes the flips of every set, in rising order: those of its prefix, and its last.
  TOPLIST_INLINE void spell(std::uint8_t* counts, std::int32_t*& to) {
    std::size_t end = 0;
    starts_[0] = 0;
    for (std::size_t place = 1; place < count_; ++place) {
      const Set set = found_[place];
      const std::size_t n = set.flips();
      if (flips_.size() < end + n) flips_.resize(2 * (end + n));
      const std::int32_t label = doubts_.label(set.last()), *before = flips_.data() + starts_[set.prefix()];
      std::int32_t* here = flips_.data() + end;
      std::size_t at = 0;
      for (std::size_t j = 0; j + 1 < n; ++j) {
        const bool above = before[j] > label;
        here[j + above] = before[j];
        at += !above;
      }
      here[at] = label;
      starts_[place] = end;
      end += n;
    }
    for (std::size_t place = 0; place < count_; ++place)
      if (place != empty_) *counts++ = static_cast<std::uint8_t>(found_[place].flips());
    const std::int32_t* flips = flips_.data();
    const std::size_t skip = empty_ < count_ ? starts_[empty_] : end;
    to = std::copy(flips, flips + skip, to);
    if (skip < end) to = std::copy(flips + skip + found_[empty_].flips(), flips + end, to);
  }

 public:
  explicit Search(const Marginals<T>& in)
      : in_(in), most_(in.most + (in.empty ? 0 : 1)), doubts_(in.width, most_), heap_(most_ + 1), found_(most_),
        codes_(most_), starts_(most_) {}

  TOPLIST_INLINE Refusal row(std::size_t i, const Listed& out, std::int32_t*& flips) {
    std::int64_t first = 0;
    if (!doubts_.read(in_.p + i * in_.width, in_.keys, first)) return BAD_VALUE;
    find(first);
    const std::size_t count = count_ - without_empty();
    if (count == 0) return ONLY_EMPTY;
    const double log_first = weigh(), least = heap_.size() > 0 ? heap_.top().cost : 0.0;
    double mass = mass_left(), log_all = 0.0;  // of all sets that may be listed
    if (!in_.empty && on_ == 0) {
      log_all = std::log(weights_[0]) - doubts_.cost_of(0);
    } else if (!in_.empty) {
      const double log_empty = log_first - doubts_.cost_on(log_first + least + 50.0);
      log_all = std::log1p(-std::exp(log_empty));
      if (!without_empty()) mass -= std::exp(log_empty + least);
    }
    const double log_rest = std::log(mass) - least - log_all;
    out.log_rest[i] = heap_.size() > 0 ? std::min(0.0, log_rest) : -std::numeric_limits<double>::infinity();
    out.counts[i] = static_cast<std::int32_t>(count);
    std::int64_t* codes = out.codes + i * in_.most;
    double* log_p = out.log_p + i * in_.most;
    for (std::size_t j = 0; j < count; ++j) {
      const std::size_t place = j + (j >= empty_);
      codes[j] = codes_[place];
      log_p[j] = std::min(0.0, log_first - log_all - found_[place].cost);
    }
    if (out.bits == nullptr) return FINE;
    doubts_.pack(out.bits + i * ((in_.width + 7) / 8));
    spell(out.flip_counts + i * in_.most, flips);
    return FINE;
  }
};

struct Outcome {
  std::size_t row;    // the first that was refused
  Refusal refusal;
  std::size_t flips;  // how many there are
};

template <bool LOGIT, class T>
TOPLIST_INLINE Outcome list_sets(const Marginals<T>& in, const Listed& out) {
  Search<LOGIT, T> search(in);
  std::int32_t* flips = out.flips;
  for (std::size_t i = 0; i < in.rows; ++i) {
    const Refusal refusal = search.row(i, out, flips);
    if (refusal != FINE) return {i, refusal, 0};
  }
  return {in.rows, FINE, static_cast<std::size_t>(flips - out.flips)};
}

}  // namespace toplist
