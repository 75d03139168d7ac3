// Where the outcome stands in its list: how many confidences are above its own, and how many equal it.
#pragma once
#include "list_view.hpp"

namespace toplist {

template <class C, class T>
TOPLIST_INLINE void places(const std::int64_t* offsets, const C* classes, const T* confidences, std::size_t rows,
                           const std::int64_t* outcomes, std::int32_t* above, std::int32_t* equal) {
  for (std::size_t i = 0; i < rows; ++i) {
    const std::int64_t lo = offsets[i], hi = offsets[i + 1], outcome = outcomes[i];
    std::int64_t at = -1;
    if (!classes) {
      if (outcome >= 0 && outcome < hi - lo) at = lo + outcome;
    } else {
      for (std::int64_t j = lo; j < hi; ++j) at = classes[j] == outcome ? j : at;
    }
    above[i] = equal[i] = 0;
    if (at < 0) continue;
    const T own = confidences[at];
    std::int32_t more = 0, same = 0;
    for (std::int64_t j = lo; j < hi; ++j) {
      more += confidences[j] > own;
      same += confidences[j] == own;
    }
    above[i] = more;
    equal[i] = same;
  }
}

}  // namespace toplist
