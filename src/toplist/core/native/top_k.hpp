// The k largest entries of a dense row, largest first, ties to the lower class; and the mass that is left.
#pragma once
#include "list_view.hpp"

namespace toplist {

template <class T>
TOPLIST_INLINE void select_row(const T* p, std::size_t m, std::size_t k, std::int32_t* classes, double* confidences,
                               double& tail, std::vector<std::int32_t>& order) {
  // NaN comes last: an array that was written to after the check may hold some, and sorting needs an order.
  const auto before = [p](std::int32_t a, std::int32_t b) {
    if (p[a] > p[b] || p[a] < p[b]) return p[a] > p[b];
    const bool lacks = p[a] != p[a], other = p[b] != p[b];
    return lacks == other ? a < b : other;
  };
  constexpr std::size_t SHORT = 32;
  if (k == 0) {
    // nothing to select
  } else if (k <= SHORT && k < m) {
    for (std::size_t j = 0; j < k; ++j) classes[j] = static_cast<std::int32_t>(j);
    std::sort(classes, classes + k, before);
    T least = p[classes[k - 1]];
    for (std::size_t j = k; j < m; ++j)
      if (p[j] > least) {
        std::size_t at = k - 1;
        for (; at > 0 && p[classes[at - 1]] < p[j]; --at) classes[at] = classes[at - 1];
        classes[at] = static_cast<std::int32_t>(j);
        least = p[classes[k - 1]];
      }
  } else {
    order.resize(m);
    for (std::size_t j = 0; j < m; ++j) order[j] = static_cast<std::int32_t>(j);
    if (k < m) std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), order.end(), before);
    std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), before);
    std::copy(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), classes);
  }
  for (std::size_t j = 0; j < k; ++j) confidences[j] = p[classes[j]];
  tail = 0.0;
  if (k == m) return;
  const T last = k == 0 ? std::numeric_limits<T>::infinity() : p[classes[k - 1]];
  const std::int32_t edge = k == 0 ? -1 : classes[k - 1];
  double sum[LANES] = {0, 0, 0, 0}, lost[LANES] = {0, 0, 0, 0};
  std::size_t j = 0;
  const auto add = [&](std::size_t at, int l) {
    const T v = p[at];
    const bool out = v < last || (v == last && static_cast<std::int32_t>(at) > edge);
    lost[l] += two_sum(sum[l], out ? static_cast<double>(v) : 0.0);
  };
  for (; j + LANES <= m; j += LANES)
    for (int l = 0; l < LANES; ++l) add(j + l, l);
  for (; j < m; ++j) add(j, static_cast<int>(j % LANES));
  tail = ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((lost[0] + lost[1]) + (lost[2] + lost[3]));
}

template <class T>
TOPLIST_INLINE void select(const T* p, std::size_t rows, std::size_t m, std::size_t k, std::int32_t* classes,
                           double* confidences, double* tail) {
  std::vector<std::int32_t> order;
  for (std::size_t i = 0; i < rows; ++i)
    select_row(p + i * m, m, k, classes + i * k, confidences + i * k, tail[i], order);
}

}  // namespace toplist
