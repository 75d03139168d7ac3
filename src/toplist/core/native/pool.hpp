// Several predictors' lists for one case, pooled: the union of their classes, most confident first, ties to the lower
// class. A predictor that does not list a class gives it the share of its rest mass.
#pragma once
#include "list_view.hpp"

namespace toplist {

struct PoolMember {
  const std::int64_t* offsets;  // rows + 1 entries; the first belongs to the first class here
  const std::int64_t* classes;  // null: every class, in order
  const double* confidences;    // for geometric pools their logarithms, which the caller takes of many at a time
  const double* slack;
  const double* log_rest;       // of the rest mass; for geometric pools only
};

struct Pooled {
  std::int64_t* classes;
  double* confidences;
  double* logs;  // geometric pools only
  std::int64_t* counts;
  double* slack;
  double* log_rest;
};

struct PoolOutcome {
  std::int64_t used = 0;      // entries written
  std::int64_t vetoed = -1;   // the first row in which every class is ruled out by some member
  std::int64_t vetoes = 0;
  bool small = false;         // is a confidence too small to be a number?
};

constexpr double SMALL_MASS = 1e-290;
constexpr double NOTHING = -std::numeric_limits<double>::infinity();

// One member's row: what it leaves over, and what it gives to each class that it does not list. Members of one length
// share a logarithm.
struct Share {
  double weight, scale, rest, unlisted, proxy;
  double log_rest, log_unlisted, log_proxy;
  double log_even;  // the proxy times the number of classes: logarithms of huge numbers would take its digits
};

// Classes met so far in a row, by open addressing; a slot counts only if it bears the row's stamp.
struct Slot {
  std::int64_t key;
  std::uint32_t stamp, place;
};

struct Found {
  Slot* slots;
  std::size_t mask;
  int shift;
  std::uint32_t stamp;

  // The place of a class, which is `next` if it is new. Whether it is new cannot be foreseen: no branch asks for it.
  TOPLIST_INLINE std::uint32_t place(std::int64_t key, std::uint32_t next) const {
    std::size_t at = static_cast<std::size_t>((static_cast<std::uint64_t>(key) * 0x9E3779B97F4A7C15ULL) >> shift);
    while (((slots[at].stamp ^ stamp) | static_cast<std::uint32_t>(slots[at].key == key)) == 0) at = (at + 1) & mask;
    const std::uint32_t known = 0U - static_cast<std::uint32_t>(slots[at].stamp == stamp);
    const std::uint32_t found = (slots[at].place & known) | (next & ~known);
    slots[at].key = key;
    slots[at].stamp = stamp;
    slots[at].place = found;
    return found;
  }
};

class Finder {
  std::vector<Slot> slots_;
  std::uint32_t stamp_ = 0;

 public:
  Found start(std::size_t entries) {
    int bits = 4;
    while ((std::size_t{1} << bits) < 4 * entries) ++bits;
    const std::size_t size = std::size_t{1} << bits;
    if (slots_.size() < size) slots_.assign(size, Slot{0, 0, 0}), stamp_ = 0;
    return {slots_.data(), size - 1, 64 - bits, ++stamp_};  // a block has fewer rows than there are stamps
  }
};

struct PoolRoom {
  Finder finder;
  std::vector<Share> shares;
  std::vector<std::int64_t> classes;
  std::vector<double> value;          // pooled confidences; for geometric pools their logarithms
  std::vector<double> mass;           // geometric: the confidences
  std::vector<double> said;           // geometric: the weight of the members that list the class
  std::vector<std::int32_t> heard;    // geometric: of the members that give zero to others, how many list it
  std::vector<std::int32_t> order;
};

// Places from most to least confident. Counting how many are larger has no branches and beats sorting in short rows.
TOPLIST_INLINE void rank_classes(const double* v, const std::int64_t* classes, std::size_t n, std::int32_t* order) {
  constexpr std::size_t SHORT = 64;
  if (n <= SHORT) {
    std::int64_t places[SHORT], sum = 0;
    for (std::size_t a = 0; a < n; ++a) {
      const double own = v[a];
      std::int64_t larger = 0;
      for (std::size_t b = 0; b < n; ++b) larger += v[b] > own ? 1 : 0;
      places[a] = larger;
      sum += larger;
    }
    if (2 * sum == static_cast<std::int64_t>(n * n) - static_cast<std::int64_t>(n)) {  // no ties
      for (std::size_t a = 0; a < n; ++a) order[places[a]] = static_cast<std::int32_t>(a);
      return;
    }
  }
  for (std::size_t a = 0; a < n; ++a) order[a] = static_cast<std::int32_t>(a);
  std::sort(order, order + n, [v, classes](std::int32_t a, std::int32_t b) {
    if (v[a] > v[b] || v[a] < v[b]) return v[a] > v[b];
    const bool lacks = v[a] != v[a], other = v[b] != v[b];  // NaN last: sorting needs an order
    return lacks == other ? classes[a] < classes[b] : other;
  });
}

template <bool GEOMETRIC>
TOPLIST_INLINE Share share_of(const PoolMember& one, double weight, const Space& space, std::size_t row, Share like) {
  const double k = static_cast<double>(one.offsets[row + 1] - one.offsets[row]), slack = one.slack[row];
  Share s{};
  s.weight = weight;
  s.unlisted = space.count(row) - k;
  const bool full = s.unlisted == 0.0, scaled = is_scaled(slack, full);
  s.scale = scaled ? 1.0 - slack : 1.0;
  s.rest = scaled ? 0.0 : slack;
  s.proxy = full ? 0.0 : s.rest / s.unlisted;
  if constexpr (GEOMETRIC) {
    s.log_rest = scaled ? NOTHING : one.log_rest[row];
    s.log_unlisted =
        s.unlisted == like.unlisted ? like.log_unlisted : log_unlisted(s.unlisted, space.log_count(row));
    s.log_proxy = s.log_rest == NOTHING ? NOTHING : s.log_rest - s.log_unlisted;
    s.log_even = s.log_proxy == NOTHING ? 0.0 : s.log_rest - (s.log_unlisted - space.log_count(row));
  }
  return s;
}

// Adds all entries of a row up by class; returns how many classes there are.
template <bool GEOMETRIC>
TOPLIST_INLINE std::size_t gather_row(const std::vector<PoolMember>& members, std::size_t row, const Found found,
                                      PoolRoom& room) {
  std::uint32_t count = 0;
  std::int64_t* const classes = room.classes.data();
  double *const value = room.value.data(), *const said = room.said.data();
  std::int32_t* const heard = room.heard.data();
  for (std::size_t j = 0; j < members.size(); ++j) {
    const Share s = room.shares[j];
    const std::int64_t first = members[j].offsets[0];
    const std::int64_t lo = members[j].offsets[row] - first, hi = members[j].offsets[row + 1] - first;
    const std::int64_t* const codes = members[j].classes;
    const double* const confidences = members[j].confidences;
    const bool certain = GEOMETRIC && s.log_proxy == NOTHING, scaled = s.scale != 1.0;
    const double log_scale = GEOMETRIC && scaled ? std::log(s.scale) : 0.0;
    for (std::int64_t e = lo; e < hi; ++e) {
      const std::int64_t code = codes == nullptr ? e - lo : codes[e];
      classes[count] = code;
      value[count] = 0.0;
      if constexpr (GEOMETRIC) heard[count] = 0, said[count] = 0.0;
      const std::uint32_t at = found.place(code, count);
      count += static_cast<std::uint32_t>(at == count);
      if constexpr (!GEOMETRIC) {
        const double t = scaled ? confidences[e] / s.scale : confidences[e];
        value[at] += s.weight * (t - s.proxy);
      } else if (s.weight > 0.0) {
        const double log_t = confidences[e] - log_scale;
        if (!certain) {
          value[at] += s.weight * (log_t - s.log_even);
          said[at] += s.weight;
        } else if (log_t > NOTHING) {
          value[at] += s.weight * log_t;
          ++heard[at];
        }
      }
    }
  }
  return count;
}

// Turns what was added up into confidences; returns the rest mass.
TOPLIST_INLINE double finish_linear(PoolRoom& room, std::size_t count, double size) {
  double base = 0.0, rest = 0.0;
  const bool finite = std::isfinite(size);
  for (const Share& s : room.shares) {
    base += s.weight * s.proxy;
    const double share = finite ? (size - static_cast<double>(count)) / (s.unlisted > 0.0 ? s.unlisted : 1.0) : 1.0;
    rest += s.weight * s.rest * share;
  }
  for (std::size_t a = 0; a < count; ++a) room.value[a] = std::max(room.value[a] + base, 0.0);
  return rest;
}

// The same in logarithms; returns the log of the rest mass, or NaN if nothing is possible.
TOPLIST_INLINE double finish_geometric(PoolRoom& room, std::size_t count, double size, double log_size) {
  double base = 0.0, all = 0.0, rest = 0.0;
  std::int32_t certain = 0;
  const double left = size - static_cast<double>(count);
  const double log_left = log_unlisted(left, log_size);
  for (const Share& s : room.shares) {
    if (!(s.weight > 0.0)) continue;
    if (s.log_proxy == NOTHING) ++certain;
    else base += s.weight * s.log_even, all += s.weight;
    // The difference of two equal infinities is the limit for ever more classes: the weights add up to one.
    const double fewer = s.log_unlisted == log_left ? 0.0 : s.log_unlisted - log_left;
    rest += s.log_rest == NOTHING ? NOTHING : s.weight * (s.log_rest - fewer);
  }
  if (left == 0.0) rest = NOTHING;
  double top = rest;
  for (std::size_t a = 0; a < count; ++a) {
    const double unsaid = all - room.said[a];  // zero, and exactly so, if all list the class
    room.value[a] = room.heard[a] < certain ? NOTHING : room.value[a] + base - (unsaid > 0.0 ? unsaid * log_size : 0.0);
    top = std::max(top, room.value[a]);
  }
  if (top == NOTHING) return std::numeric_limits<double>::quiet_NaN();
  double sum = std::exp(rest - top);
  for (std::size_t a = 0; a < count; ++a) sum += room.mass[a] = std::exp(room.value[a] - top);
  const double log_sum = top + std::log(sum);
  for (std::size_t a = 0; a < count; ++a) {
    room.mass[a] /= sum;
    room.value[a] -= log_sum;
  }
  return rest - log_sum;
}

// Writes the `keep` most confident classes of a row; what is cut off joins the rest mass.
template <bool GEOMETRIC>
TOPLIST_INLINE void write_row(PoolRoom& room, std::size_t count, std::size_t keep, double rest, bool full,
                              std::size_t row, const Pooled& out, PoolOutcome& outcome) {
  const double *v = room.value.data(), *p = GEOMETRIC ? room.mass.data() : v;
  std::int32_t* order = room.order.data();
  rank_classes(v, room.classes.data(), count, order);
  double* t = out.confidences + outcome.used;
  double mass = 0.0, lost = 0.0;
  for (std::size_t a = 0; a < keep; ++a) {
    out.classes[outcome.used + static_cast<std::int64_t>(a)] = room.classes[order[a]];
    t[a] = p[order[a]];
    if constexpr (GEOMETRIC) {
      out.logs[outcome.used + static_cast<std::int64_t>(a)] = v[order[a]];
      outcome.small |= t[a] < SMALL_MASS && v[order[a]] > NOTHING;
    }
    if (full) lost += two_sum(mass, t[a]);
  }
  double log_rest = GEOMETRIC ? rest : 0.0, slack = GEOMETRIC ? std::exp(rest) : rest;
  if (full) {
    for (std::size_t a = keep; a < count; ++a) lost += two_sum(mass, p[order[a]]);
    slack = 1.0 - mass - lost;
  }
  if (keep < count) {
    const double scale = full ? 1.0 - slack : 1.0;
    double dropped = 0.0;
    for (std::size_t a = count; a-- > keep;) dropped += p[order[a]] / scale;
    if (full)
      for (std::size_t a = 0; a < keep; ++a) t[a] /= scale;
    slack = (full ? 0.0 : slack) + dropped;
    if constexpr (GEOMETRIC) {
      const double top = std::max(log_rest, v[order[keep]]);
      double sum = top > NOTHING ? std::exp(log_rest - top) : 0.0;
      for (std::size_t a = keep; top > NOTHING && a < count; ++a) sum += std::exp(v[order[a]] - top);
      log_rest = top > NOTHING ? top + std::log(sum) : NOTHING;
    }
  }
  out.slack[row] = slack;
  out.log_rest[row] = GEOMETRIC ? log_rest : (full && keep == count) || !(slack > 0.0) ? NOTHING : std::log(slack);
  out.counts[row] = static_cast<std::int64_t>(keep);
  outcome.used += static_cast<std::int64_t>(keep);
}

template <bool GEOMETRIC>
TOPLIST_INLINE PoolOutcome pool(const std::vector<PoolMember>& members, const double* weights, const Space& space,
                                std::size_t rows, std::int64_t most, const Pooled& out) {
  PoolRoom room;
  room.shares.resize(members.size());
  Share none{};
  none.unlisted = -1.0;
  PoolOutcome outcome;
  for (std::size_t i = 0; i < rows; ++i) {
    std::size_t entries = 0;
    for (std::size_t j = 0; j < members.size(); ++j) {
      entries += static_cast<std::size_t>(members[j].offsets[i + 1] - members[j].offsets[i]);
      room.shares[j] = share_of<GEOMETRIC>(members[j], weights[j], space, i, j > 0 ? room.shares[j - 1] : none);
    }
    if (room.classes.size() <= entries) {  // one more, where the next class is tried
      room.classes.resize(entries + 1);
      room.value.resize(entries + 1);
      room.mass.resize(GEOMETRIC ? entries + 1 : 0);
      room.said.resize(GEOMETRIC ? entries + 1 : 0);
      room.heard.resize(GEOMETRIC ? entries + 1 : 0);
      room.order.resize(entries + 1);
    }
    const std::size_t count = gather_row<GEOMETRIC>(members, i, room.finder.start(entries), room);
    const double size = space.count(i);
    const double rest =
        GEOMETRIC ? finish_geometric(room, count, size, space.log_count(i)) : finish_linear(room, count, size);
    if (GEOMETRIC && std::isnan(rest)) {
      if (outcome.vetoed < 0) outcome.vetoed = static_cast<std::int64_t>(i);
      ++outcome.vetoes;
      out.counts[i] = 0;
      out.slack[i] = out.log_rest[i] = 0.0;
      continue;
    }
    const std::size_t keep = most < 0 ? count : std::min(count, static_cast<std::size_t>(most));
    write_row<GEOMETRIC>(room, count, keep, rest, size == static_cast<double>(count), i, out, outcome);
  }
  return outcome;
}

}  // namespace toplist
