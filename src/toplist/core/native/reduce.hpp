// The one reduction: per case the confidence of the outcome, a sum over the other listed confidences, and the
// rest mass, all of the largest valid sublist.
#pragma once
#include "list_view.hpp"

namespace toplist {

enum class Sum : int { NONE = 0, SQUARES = 1, POWERS = 2, PEAK = 3 };

struct CaseStatistics {
  double* outcome;         // confidence of what happened, the proxy if it is not listed
  double* miss;            // 1 - outcome, without cancellation
  double* total;           // SQUARES, POWERS: sum over every class but the outcome, listed or not
  double* ties;            // PEAK only: how many listed confidences equal the largest, which is in `total`
  double* rest;
  double* unlisted;        // number of classes not listed
  double* proxy;           // rest / unlisted
  std::uint8_t* hit;       // 1 if the outcome is listed
  bool wide;               // false: only the first three are wanted
};

struct Term {
  double exponent;
  template <Sum S>
  TOPLIST_INLINE double of(double v) const {
    if constexpr (S == Sum::SQUARES) return v * v;
    else if constexpr (S == Sum::POWERS) return v > 0.0 ? std::pow(v, exponent) : 0.0;
    else return 0.0;
  }
};

// The class at place j of a row; dense rows hold every class in order.
template <bool DENSE, class C>
TOPLIST_INLINE std::int64_t code_at(const C* c, std::size_t j) {
  if constexpr (DENSE) return static_cast<std::int64_t>(j);
  else return static_cast<std::int64_t>(c[j]);
}

// Sums one row. `outcome` is the class looked for, or -1; confidences below `threshold` are not in the list.
template <Sum S, bool CUT, bool DENSE, class C, class T>
TOPLIST_INLINE void sum_row(const C* c, const T* t, std::size_t k, std::int64_t outcome, double threshold, Term term,
                            double& found, int& hits, double& total, double& ties) {
  constexpr std::size_t CHUNK = 4096;
  double all = 0.0, lost = 0.0;
  if constexpr (S == Sum::NONE) {
    if (DENSE || k > 64) {
      // Only the outcome's confidence is wanted: read the classes, and one confidence. In short rows reading all is
      // faster than guessing where to stop.
      std::size_t j = DENSE ? (outcome >= 0 ? static_cast<std::size_t>(outcome) : k) : 0;
      if constexpr (!DENSE)
        while (j < k && code_at<DENSE>(c, j) != outcome) ++j;
      if (j < k && (!CUT || t[j] >= threshold)) found = t[j], hits = 1;
      total = ties = 0.0;
      return;
    }
  }
  if constexpr (S == Sum::PEAK) {
    double top = -1.0, count = 0.0;
    for (std::size_t j = 0; j < k; ++j) {
      const double v = t[j];
      if (CUT && v < threshold) continue;
      if (v > top) top = v, count = 0.0;
      count += v == top;
      if (code_at<DENSE>(c, j) == outcome)
        found = v, hits = 1;
    }
    total = top, ties = count;
    return;
  }
  const auto add = [&](std::size_t j, double& sum, double& q, int& same) {
    const double v = !CUT || t[j] >= threshold ? t[j] : T{0};
    const bool is = code_at<DENSE>(c, j) == outcome;
    const double other = is ? 0.0 : v;
    sum += term.template of<S>(other);
    q += v - other;
    same |= is && (!CUT || t[j] >= threshold);
  };
  for (std::size_t from = 0; from < k; from += CHUNK) {
    const std::size_t to = std::min(k, from + CHUNK);
    double part = 0.0;
    std::size_t j = from;
    if (to - from >= LONG) {
      double sum[LANES] = {0, 0, 0, 0}, q[LANES] = {0, 0, 0, 0};
      int same[LANES] = {0, 0, 0, 0};
      for (; j + LANES <= to; j += LANES)
        for (int l = 0; l < LANES; ++l) add(j + l, sum[l], q[l], same[l]);
      part = (sum[0] + sum[1]) + (sum[2] + sum[3]);
      found += (q[0] + q[1]) + (q[2] + q[3]);
      hits |= same[0] | same[1] | same[2] | same[3];
    }
    for (; j < to; ++j) add(j, part, found, hits);
    lost += two_sum(all, part);
  }
  total = all + lost;
  ties = 0.0;
}

struct Cut {
  double threshold, rest, unlisted;
};

// Largest valid sublist: drop the smallest confidence while it is below the proxy (paper, section 3).
template <class T>
Cut largest_valid(const T* t, std::size_t k, double unlisted, double log_count, double rest, double log_rest,
                  std::vector<double>& sorted) {
  sorted.assign(t, t + k);
  std::sort(sorted.begin(), sorted.end(), [](double a, double b) { return a < b || (a == a && b != b); });  // NaN last
  double mass = rest, count = unlisted;
  std::size_t j = 0;
  for (; j < k; ++j) {
    if (!below_proxy(sorted[j], count, log_unlisted(count, log_count), mass, log_rest)) break;
    mass += sorted[j];
    count += 1.0;
    if (mass > std::numeric_limits<double>::min()) log_rest = std::log(mass);
  }
  if (j == k) return {std::numeric_limits<double>::infinity(), mass, count};
  // Equal confidences stay or go together, whatever rounding says of them one by one.
  while (j > 0 && sorted[j - 1] == sorted[j]) --j;
  mass = rest;
  for (std::size_t i = 0; i < j; ++i) mass += sorted[i];
  return {sorted[j], mass, unlisted + static_cast<double>(j)};
}

// The listed mass of the other classes of a row: with the rest mass, what a confidence near one lacks, without
// cancellation.
template <class C, class T>
inline double sum_others(const C* c, const T* t, std::size_t k, std::int64_t outcome, bool dense) {
  double sum = 0.0, lost = 0.0;
  for (std::size_t j = 0; j < k; ++j) {
    const std::int64_t code = dense ? static_cast<std::int64_t>(j) : static_cast<std::int64_t>(c[j]);
    lost += two_sum(sum, code == outcome ? 0.0 : static_cast<double>(t[j]));
  }
  return sum + lost;
}

// (number of unlisted classes but the outcome) * proxy**a, in logarithms: it survives any number of classes.
template <class C, class T>
inline double rest_powers(double rest, double unlisted, const Lists<C, T>& lists, std::size_t row, int hit, double a) {
  const double none = -std::numeric_limits<double>::infinity();
  double log_rest = rest > 0.0 ? std::log(rest) : none;
  if (log_rest == none && lists.log_rest != nullptr && unlisted > 0.0) log_rest = lists.log_rest[row];
  if (log_rest == none || unlisted == 0.0 || (unlisted == 1.0 && hit == 0)) return 0.0;
  const double whole = std::exp(a * log_rest + (1.0 - a) * log_unlisted(unlisted, lists.space.log_count(row)));
  return hit ? whole : whole * (1.0 - 1.0 / unlisted);
}

// What is summed over a row, before the rest mass joins.
struct RowTotal {
  double found = 0.0;  // confidence of the outcome
  int hit = 0;
  double total, ties;
};

#if defined(__GNUC__)
// Four rows of one length that are scored as they are: the same additions in the same order as row by row.
template <Sum S, class C, class T>
TOPLIST_INLINE void sum_lanes(const C* c, const T* t, std::size_t k, const std::int64_t* outcomes, RowTotal* rows) {
  const Words sought = codes_at(outcomes, 1);
  const Doubles zero = {0, 0, 0, 0};
  Doubles found = zero, total = zero;
  Words hit = {0, 0, 0, 0};
  for (std::size_t j = 0; j < k; ++j) {
    const Doubles v = doubles_at(t + j, k);
    const Words is = Words(codes_at(c + j, k) == sought);
    const Doubles other = is ? zero : v;
    if constexpr (S == Sum::SQUARES) total += other * other;
    found += v - other;
    hit |= is;
  }
  for (int l = 0; l < LANES; ++l) rows[l] = {found[l], hit[l] != 0, total[l], 0.0};
}
#else
template <Sum S, class C, class T>
void sum_lanes(const C*, const T*, std::size_t, const std::int64_t*, RowTotal*) {}
#endif

// The statistics of a case from the sums over its row.
template <Sum S, bool DENSE, class C, class T>
TOPLIST_INLINE void finish(const Lists<C, T>& lists, std::size_t i, std::int64_t outcome, RowTotal row, double rest,
                           double unlisted, const double* slack, const std::uint16_t* flags, Term term,
                           const CaseStatistics& out) {
  const std::int64_t start = lists.offsets[i];
  const std::size_t k = static_cast<std::size_t>(lists.offsets[i + 1] - start);
  const C* c = DENSE ? nullptr : lists.classes + start;
  const T* t = lists.confidences + start;
  auto [found, hit, total, ties] = row;
  const bool full = unlisted == 0.0;
  double lack = 0.0;  // what the confidence of a hit lacks to one, where the others say it better than 1 - found
  const bool scaled = is_scaled(rest, full);
  const bool known = hit && found > 0.5 && !scaled && (flags[i] & KNOWN_REST);
  if (known) lack = sum_others(c, t, k, outcome, DENSE) + slack[i];
  if (scaled) {
    const double scale = 1.0 / (1.0 - rest);
    lack = hit && found > 0.5 ? sum_others(c, t, k, outcome, DENSE) * scale : 1.0 - found * scale;
    found *= scale;
    if constexpr (S == Sum::SQUARES) total *= scale * scale;
    else if constexpr (S == Sum::POWERS) total *= std::pow(scale, term.exponent);
    else total *= scale;
    rest = 0.0;
  }
  const double proxy = full ? 0.0 : rest / unlisted;
  const double outcome_mass = found + (1 - hit) * proxy;  // one of the two is zero
  if constexpr (S == Sum::SQUARES) total += proxy * (rest - (1 - hit) * proxy);
  if constexpr (S == Sum::POWERS) total += rest_powers(rest, unlisted, lists, i, hit, term.exponent);
  out.outcome[i] = outcome_mass;
  out.miss[i] = (scaled && hit) || known ? lack : 1.0 - outcome_mass;
  out.total[i] = total;
  if (!out.wide) return;
  out.ties[i] = ties;
  out.rest[i] = rest;
  out.unlisted[i] = unlisted;
  out.proxy[i] = proxy;
  out.hit[i] = static_cast<std::uint8_t>(hit);
}

template <Sum S, bool DENSE, class C, class T>
TOPLIST_INLINE void reduce_rows(const Lists<C, T>& lists, const double* slack, const std::uint16_t* flags,
                           const std::int64_t* outcomes, Term term, const CaseStatistics& out) {
  std::vector<double> sorted;
  for (std::size_t i = 0; i < lists.rows;) {
    const std::int64_t start = lists.offsets[i];
    const std::size_t k = static_cast<std::size_t>(lists.offsets[i + 1] - start);
    const C* c = DENSE ? nullptr : lists.classes + start;
    const T* t = lists.confidences + start;
    if constexpr (HAS_LANES && !DENSE && (S == Sum::SQUARES || S == Sum::NONE))
      if (outcomes != nullptr && fill_lanes(lists.offsets, i, lists.rows) &&
          !((flags[i] | flags[i + 1] | flags[i + 2] | flags[i + 3]) & BELOW)) {
        RowTotal rows[LANES];
        sum_lanes<S>(c, t, k, outcomes + i, rows);
        for (int l = 0; l < LANES; ++l, ++i)
          finish<S, DENSE>(lists, i, outcomes[i], rows[l], slack[i], lists.space.count(i) - static_cast<double>(k), slack,
                           flags, term, out);
        continue;
      }
    const std::int64_t outcome = outcomes == nullptr ? -1 : outcomes[i];
    double unlisted = lists.space.count(i) - static_cast<double>(k), rest = slack[i];
    RowTotal row;
    if (flags[i] & BELOW) {
      const double log_rest = lists.log_rest != nullptr ? lists.log_rest[i] : std::log(rest);
      const Cut cut = largest_valid(t, k, unlisted, lists.space.log_count(i), rest, log_rest, sorted);
      rest = cut.rest;
      unlisted = cut.unlisted;
      sum_row<S, true, DENSE>(c, t, k, outcome, cut.threshold, term, row.found, row.hit, row.total, row.ties);
    } else {
      sum_row<S, false, DENSE>(c, t, k, outcome, 0.0, term, row.found, row.hit, row.total, row.ties);
    }
    finish<S, DENSE>(lists, i, outcome, row, rest, unlisted, slack, flags, term, out);
    ++i;
  }
}

template <Sum S, class C, class T>
TOPLIST_INLINE void reduce(const Lists<C, T>& lists, const double* slack, const std::uint16_t* flags,
                           const std::int64_t* outcomes, Term term, const CaseStatistics& out) {
  if (lists.classes == nullptr) reduce_rows<S, true>(lists, slack, flags, outcomes, term, out);
  else reduce_rows<S, false>(lists, slack, flags, outcomes, term, out);
}

}  // namespace toplist
