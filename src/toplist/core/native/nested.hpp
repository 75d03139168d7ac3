// Form N of the top-beta score: lists in falling order, one outcome each. One pass back over the ranks, one forth, one
// back; the operations and their order are those of scoring/topbeta/nested.py, so that both round alike.
#pragma once
#include "reduce.hpp"

namespace toplist {

struct NestedRoom {
  std::vector<double> t, before, w, listed;

  TOPLIST_INLINE void fit(std::size_t k) {
    if (t.size() >= k) return;
    for (auto* one : {&t, &before, &w, &listed}) one->resize(2 * k);
  }
};

// The masses of a row and of the row without its last class, added up from the first class on.
template <class T>
TOPLIST_INLINE void running_mass(const T* t, std::size_t k, double scale, double& mass, double& before) {
  double sum = 0.0, last = 0.0;
  for (std::size_t j = 0; j < k; ++j) {
    last = static_cast<double>(t[j]) / scale;
    sum += last;
  }
  mass = sum;
  before = sum - last;
}

// Fills the score of the list if the class at each rank happens, and returns that of an unlisted outcome.
TOPLIST_INLINE double score_ranks(std::size_t k, double beta, const NestedRoom& room, double* w, double* listed) {
  double value = 0.0;
  for (std::size_t j = k; j-- > 0;) {
    const double left = beta - room.before[j];
    if (!(left > 0.0)) {
      w[j] = value = 0.0;
      continue;
    }
    const double reach = left + 0.25 * value;
    w[j] = reach / (2.0 * (1.0 - room.before[j]) - room.t[j]);
    value = reach * w[j];
  }
  double weight = 1.0, missed = 0.0;
  for (std::size_t j = 0; j < k; ++j) {
    const double part = weight * w[j];
    listed[j] = missed + part * (w[j] - 2.0 * beta);  // ranks before that of the outcome, and its own
    missed += 2.0 * part * (w[j] - beta);
    w[j] = 2.0 * (1.0 - beta) * part;  // what the rank costs if the outcome stands before it
    weight = 0.5 * part;
  }
  double behind = 0.0;
  for (std::size_t j = k; j-- > 0;) {
    const double own = listed[j];
    listed[j] = own + behind;
    behind += w[j];
  }
  return missed;
}

// The scores of lists whose confidences fall. Classes of a list that have the same key share the mean of their scores if
// `averaged`; without keys their confidences are the keys.
template <bool DENSE, class C, class T>
TOPLIST_INLINE void nested_rows(const std::int64_t* offsets, const C* classes, const T* confidences, const double* keys,
                                const double* scales, std::size_t rows, double beta, bool averaged,
                                const std::int64_t* outcomes, double* out) {
  NestedRoom room;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::int64_t start = offsets[i];
    const std::size_t k = static_cast<std::size_t>(offsets[i + 1] - start);
    const C* c = DENSE ? nullptr : classes + start;
    room.fit(k);
    double sum = 0.0;
    std::size_t rank = k;
    for (std::size_t j = 0; j < k; ++j) {
      room.t[j] = static_cast<double>(confidences[start + static_cast<std::int64_t>(j)]) / scales[i];
      room.before[j] = sum;
      sum += room.t[j];
      if (code_at<DENSE>(c, j) == outcomes[i]) rank = j;
    }
    const double missed = score_ranks(k, beta, room, room.w.data(), room.listed.data());
    if (rank == k) {
      out[i] = missed;
      continue;
    }
    const double* key = keys == nullptr ? room.t.data() : keys + start;
    std::size_t first = rank, last = rank;
    if (averaged) {
      while (first > 0 && key[first - 1] == key[rank]) --first;
      while (last + 1 < k && key[last + 1] == key[rank]) ++last;
    }
    double total = 0.0;
    for (std::size_t j = first; j <= last; ++j) total += room.listed[j];
    out[i] = total / static_cast<double>(last - first + 1);
  }
}

template <class C, class T>
TOPLIST_INLINE void nested_scores(const std::int64_t* offsets, const C* classes, const T* confidences,
                                  const double* keys, const double* scales, std::size_t rows, double beta,
                                  bool averaged, const std::int64_t* outcomes, double* out) {
  if (classes == nullptr)
    nested_rows<true>(offsets, classes, confidences, keys, scales, rows, beta, averaged, outcomes, out);
  else
    nested_rows<false>(offsets, classes, confidences, keys, scales, rows, beta, averaged, outcomes, out);
}

template <class T>
TOPLIST_INLINE void running_masses(const std::int64_t* offsets, const T* confidences, const double* scales,
                                   std::size_t rows, double* mass, double* before) {
  for (std::size_t i = 0; i < rows; ++i)
    running_mass(confidences + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i]), scales[i], mass[i],
                 before[i]);
}

}  // namespace toplist
