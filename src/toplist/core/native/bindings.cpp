// Python's door to the kernels: arrays in, arrays filled, the GIL released meanwhile.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <stdexcept>
#include <vector>

#include "exact_sum.hpp"
#include "hash.hpp"
#include "validate.hpp"
#include "rank_of_outcome.hpp"
#include "pool.hpp"
#include "reduce.hpp"
#include "top_k.hpp"
#include "subset_search/search.hpp"

namespace nb = nanobind;
using namespace toplist;

namespace {

template <class V>
using In = nb::ndarray<const V, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class V>
using In2 = nb::ndarray<const V, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class V>
using Out = nb::ndarray<V, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class V>
using Out2 = nb::ndarray<V, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// The instruction-set clones need plain functions, so each pair of element types is written out once.
#define TOPLIST_PAIRS(X) X(std::int32_t, float) X(std::int32_t, double) X(std::int64_t, float) X(std::int64_t, double)

#define TOPLIST_INSPECT(C, T)                                                                                       \
  TOPLIST_CLONES std::uint16_t run_inspect(const Lists<C, T>& lists, int bits, double* slack,                       \
                                           std::uint16_t* flags) {                                                  \
    return inspect(lists, bits, slack, flags);                                                                      \
  }
TOPLIST_PAIRS(TOPLIST_INSPECT)

#define TOPLIST_REDUCE(C, T)                                                                                        \
  TOPLIST_CLONES void run_reduce(Sum sum, const Lists<C, T>& lists, const double* slack, const std::uint16_t* flags, \
                                 const std::int64_t* outcomes, Term term, const CaseStatistics& out) {                     \
    switch (sum) {                                                                                                  \
      case Sum::NONE: return reduce<Sum::NONE>(lists, slack, flags, outcomes, term, out);                           \
      case Sum::SQUARES: return reduce<Sum::SQUARES>(lists, slack, flags, outcomes, term, out);                     \
      case Sum::POWERS: return reduce<Sum::POWERS>(lists, slack, flags, outcomes, term, out);                       \
      case Sum::PEAK: return reduce<Sum::PEAK>(lists, slack, flags, outcomes, term, out);                           \
    }                                                                                                               \
  }
TOPLIST_PAIRS(TOPLIST_REDUCE)

#define TOPLIST_SELECT(T)                                                                                           \
  TOPLIST_CLONES void run_select(const T* p, std::size_t rows, std::size_t m, std::size_t k, std::int32_t* classes, \
                                 double* confidences, double* tail) {                                               \
    select(p, rows, m, k, classes, confidences, tail);                                                              \
  }
TOPLIST_SELECT(float)
TOPLIST_SELECT(double)

#define TOPLIST_SETS(T)                                                                                             \
  TOPLIST_CLONES Outcome run_sets(const Marginals<T>& in, bool logit, const Listed& out) {                          \
    return logit ? list_sets<true>(in, out) : list_sets<false>(in, out);                                            \
  }
TOPLIST_SETS(float)
TOPLIST_SETS(double)

#define TOPLIST_PLACES(C, T)                                                                                        \
  TOPLIST_CLONES void run_places(const std::int64_t* offsets, const C* classes, const T* confidences,               \
                                 std::size_t rows, const std::int64_t* outcomes, std::int32_t* above,               \
                                 std::int32_t* equal) {                                                             \
    places(offsets, classes, confidences, rows, outcomes, above, equal);                                            \
  }
TOPLIST_PAIRS(TOPLIST_PLACES)

TOPLIST_CLONES PoolOutcome run_pool(bool geometric, const std::vector<PoolMember>& members, const double* weights,
                                    const Space& space, std::size_t rows, std::int64_t most, const Pooled& out) {
  return geometric ? pool<true>(members, weights, space, rows, most, out)
                   : pool<false>(members, weights, space, rows, most, out);
}

TOPLIST_CLONES void run_accumulate(const double* columns, std::size_t stride, std::size_t count, std::size_t rows,
                                   const std::int32_t* left, const std::int32_t* right, std::size_t products,
                                   const std::int32_t* codes, std::size_t width, Accumulator* out) {
  accumulate(columns, stride, count, rows, left, right, products, codes, width, out);
}

// No kernel reads or writes beyond an array, whatever the caller says: lengths agree, offsets rise within the entries.
void require(bool fine, const char* otherwise) {
  if (!fine) throw std::invalid_argument(otherwise);
}

std::size_t count_rows(const In<std::int64_t>& offsets, std::size_t entries) {
  require(offsets.shape(0) > 0, "offsets must have one entry more than there are rows");
  const std::size_t rows = offsets.shape(0) - 1;
  const std::int64_t* at = offsets.data();
  bool rising = at[0] >= 0;
  for (std::size_t i = 0; i < rows; ++i) rising &= at[i] <= at[i + 1];
  require(rising && static_cast<std::uint64_t>(at[rows]) <= entries, "offsets must rise from 0 to the number of entries");
  return rows;
}

template <class C, class T>
std::size_t count_rows(const In<std::int64_t>& offsets, const std::optional<In<C>>& classes, const In<T>& confidences) {
  require(!classes || classes->shape(0) == confidences.shape(0), "each class must have one confidence");
  return count_rows(offsets, confidences.shape(0));
}

template <class C, class T>
Lists<C, T> view(const In<std::int64_t>& offsets, const std::optional<In<C>>& classes, const In<T>& confidences,
                 const std::optional<In<double>>& log_rest, const In<double>& size, const In<double>& log_size) {
  const std::size_t rows = count_rows(offsets, classes, confidences);
  require(size.shape(0) == log_size.shape(0) && (size.shape(0) == 1 || size.shape(0) == rows),
          "sizes must have one entry, or one per case");
  require(!log_rest || log_rest->shape(0) == rows, "log_rest must have one entry per case");
  return {offsets.data(),
          classes ? classes->data() : nullptr,
          confidences.data(),
          log_rest ? log_rest->data() : nullptr,
          {size.data(), log_size.data(), size.shape(0) == 1 ? std::size_t{0} : std::size_t{1}},
          rows};
}

template <class C, class T>
void bind(nb::module_& m) {
  m.def("inspect",
        [](In<std::int64_t> offsets, std::optional<In<C>> classes, In<T> confidences,
           std::optional<In<double>> log_rest, In<double> size, In<double> log_size, int bits, Out<double> slack,
           Out<std::uint16_t> flags) -> int {
          const auto lists = view<C, T>(offsets, classes, confidences, log_rest, size, log_size);
          require(slack.shape(0) == lists.rows && flags.shape(0) == lists.rows, "slack and flags must have one entry per case");
          nb::gil_scoped_release release;
          return run_inspect(lists, bits, slack.data(), flags.data());
        },
        nb::arg("offsets"), nb::arg("classes").none().noconvert(), nb::arg("confidences").noconvert(), nb::arg("log_rest").none(),
        nb::arg("size"), nb::arg("log_size"), nb::arg("bits"), nb::arg("slack").noconvert(),
        nb::arg("flags").noconvert());
  m.def("reduce",
        [](int sum, double exponent, In<std::int64_t> offsets, std::optional<In<C>> classes, In<T> confidences,
           std::optional<In<double>> log_rest, In<double> size, In<double> log_size, In<double> slack,
           In<std::uint16_t> flags, std::optional<In<std::int64_t>> outcomes, Out2<double> out,
           Out<std::uint8_t> hit) {
          const auto lists = view<C, T>(offsets, classes, confidences, log_rest, size, log_size);
          const bool wide = out.shape(0) == 7;
          require((wide || out.shape(0) == 3) && out.shape(1) == lists.rows && (!wide || hit.shape(0) == lists.rows),
                  "out must be (3, rows) or (7, rows)");
          require(slack.shape(0) == lists.rows && flags.shape(0) == lists.rows &&
                      (!outcomes || outcomes->shape(0) == lists.rows),
                  "slack, flags and outcomes must have one entry per case");
          require(sum >= static_cast<int>(Sum::NONE) && sum <= static_cast<int>(Sum::PEAK), "there is no such sum");
          double* to[7];
          for (std::size_t r = 0; r < 7; ++r) to[r] = out.data() + (wide || r < 3 ? r : 0) * lists.rows;
          const CaseStatistics statistics{to[0], to[1], to[2], to[3], to[4], to[5], to[6], hit.data(), wide};
          const std::int64_t* codes = outcomes ? outcomes->data() : nullptr;
          nb::gil_scoped_release release;
          run_reduce(static_cast<Sum>(sum), lists, slack.data(), flags.data(), codes, Term{exponent}, statistics);
        },
        nb::arg("kind"), nb::arg("exponent"), nb::arg("offsets"), nb::arg("classes").none().noconvert(), nb::arg("confidences"),
        nb::arg("log_rest").none(), nb::arg("size"), nb::arg("log_size"), nb::arg("slack"), nb::arg("flags"),
        nb::arg("outcomes").none(), nb::arg("out").noconvert(), nb::arg("hit").noconvert());
  m.def("places",
        [](In<std::int64_t> offsets, std::optional<In<C>> classes, In<T> confidences, In<std::int64_t> outcomes,
           Out<std::int32_t> above, Out<std::int32_t> equal) {
          const std::size_t rows = count_rows(offsets, classes, confidences);
          require(outcomes.shape(0) == rows && above.shape(0) == rows && equal.shape(0) == rows,
                  "outcomes and places must have one entry per case");
          nb::gil_scoped_release release;
          run_places(offsets.data(), classes ? classes->data() : nullptr, confidences.data(), outcomes.shape(0),
                     outcomes.data(), above.data(), equal.data());
        },
        nb::arg("offsets"), nb::arg("classes").none().noconvert(), nb::arg("confidences").noconvert(),
        nb::arg("outcomes"), nb::arg("above").noconvert(), nb::arg("equal").noconvert());
}

// Whether all are places among so many.
bool all_below(const In<std::int32_t>& places, std::size_t count) {
  bool fine = true;
  for (std::size_t i = 0; i < places.shape(0); ++i)
    fine &= places.data()[i] >= 0 && static_cast<std::size_t>(places.data()[i]) < count;
  return fine;
}

void bind_exact(nb::module_& m) {
  using Columns = nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>;
  m.attr("EXACT_BYTES") = 4 * DIGITS;
  m.def("accumulate",
        [](Columns columns, In<std::int32_t> left, In<std::int32_t> right, std::optional<In<std::int32_t>> codes,
           nb::ndarray<std::uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu> out) {
          const std::size_t groups = out.shape(0), width = out.shape(1), count = columns.shape(0);
          require(width == count + left.shape(0) && out.shape(2) == 4 * DIGITS &&
                      (columns.shape(1) <= 1 || columns.stride(1) == 1) && (count <= 1 || columns.stride(0) >= 0),
                  "out must be (groups, columns + products, EXACT_BYTES)");
          require(left.shape(0) == right.shape(0) && all_below(left, count) && all_below(right, count),
                  "products must be of two columns");
          require(codes ? codes->shape(0) == columns.shape(1) && all_below(*codes, groups) : groups > 0,
                  "codes must be one group per row");
          const std::size_t stride = static_cast<std::size_t>(columns.stride(0));
          const std::int32_t* group = codes ? codes->data() : nullptr;
          nb::gil_scoped_release release;
          std::vector<Accumulator> sums(groups * width);
          run_accumulate(columns.data(), stride, count, columns.shape(1), left.data(), right.data(), left.shape(0),
                         group, width, sums.data());
          for (std::size_t a = 0; a < sums.size(); ++a) sums[a].write(out.data() + a * 4 * DIGITS);
        },
        nb::arg("columns").noconvert(), nb::arg("left"), nb::arg("right"), nb::arg("codes").none(),
        nb::arg("out").noconvert());
  m.def("fixed_sums",
        [](In2<double> columns, In<std::int32_t> codes,
           nb::ndarray<std::int64_t, nb::ndim<3>, nb::c_contig, nb::device::cpu> out) {
          const std::size_t count = columns.shape(0), rows = columns.shape(1);
          require(out.shape(1) == count && out.shape(2) == 2 && rows <= (std::size_t{1} << 17),
                  "out must be (groups, columns, 2), of at most 131,072 rows");
          require(codes.shape(0) == rows && all_below(codes, out.shape(0)), "codes must be one group per row");
          bool small = true;
          for (std::size_t i = 0; i < count * rows; ++i) small &= std::fabs(columns.data()[i]) <= 0x1p30;
          require(small, "numbers must be at most 2**30");
          nb::gil_scoped_release release;
          fixed_sums(columns.data(), rows, count, rows, codes.data(), out.data());
        },
        nb::arg("columns").noconvert(), nb::arg("codes").noconvert(), nb::arg("out").noconvert());
}

template <class I>
void bind_hash_integers(nb::module_& m) {
  m.def("hash_integers",
        [](In<I> values, std::uint64_t seed, Out<std::uint64_t> out) {
          require(out.shape(0) == values.shape(0), "out must have one entry per number");
          nb::gil_scoped_release release;
          hash_integers(values.data(), values.shape(0), seed, out.data());
        },
        nb::arg("values").noconvert(), nb::arg("seed"), nb::arg("out").noconvert());
}

void bind_hash(nb::module_& m) {
  m.def("hash_text",
        [](In<std::uint8_t> data, In<std::int64_t> offsets, std::uint64_t seed, Out<std::uint64_t> out) {
          const std::size_t rows = count_rows(offsets, data.shape(0));
          require(out.shape(0) == rows, "out must have one entry per text");
          nb::gil_scoped_release release;
          hash_text(data.data(), offsets.data(), rows, seed, out.data());
        },
        nb::arg("data"), nb::arg("offsets"), nb::arg("seed"), nb::arg("out").noconvert());
  bind_hash_integers<std::int64_t>(m);
  bind_hash_integers<std::uint64_t>(m);
}

// One of the arrays of a member, as it is: a converted copy would not outlive this call.
template <class V>
In<V> part_of(nb::handle array) {
  In<V> out;
  require(nb::try_cast<In<V>>(array, out, false), "a member must be flat arrays of its own types");
  return out;
}

void bind_pool(nb::module_& m) {
  m.def("pool",
        [](bool geometric, nb::list lists, In<double> weights, In<double> size, In<double> log_size, std::int64_t most,
           Out<std::int64_t> classes, Out<double> confidences, std::optional<Out<double>> logs,
           Out<std::int64_t> counts, Out<double> slack, Out<double> log_rest) {
          const std::size_t rows = counts.shape(0);
          std::vector<PoolMember> members;
          std::size_t entries = 0;
          for (nb::handle one : lists) {  // the caller's list keeps the arrays alive
            nb::tuple parts;
            require(nb::try_cast<nb::tuple>(one, parts) && parts.size() == 5, "a member must be a tuple of five");
            const auto offsets = part_of<std::int64_t>(parts[0]);
            const auto t = part_of<double>(parts[2]);
            const auto left = part_of<double>(parts[3]);
            PoolMember member{offsets.data(), nullptr, t.data(), left.data(), nullptr};
            require(offsets.shape(0) == rows + 1 && left.shape(0) == rows, "a member must have one list per row");
            const std::int64_t first = offsets.data()[0], last = offsets.data()[rows];
            require(first >= 0 && count_rows(offsets, static_cast<std::size_t>(std::max(first, last))) == rows &&
                        static_cast<std::size_t>(last - first) == t.shape(0),
                    "offsets must rise from 0 to the number of entries");
            if (!parts[1].is_none()) {
              const auto codes = part_of<std::int64_t>(parts[1]);
              require(codes.shape(0) == t.shape(0), "each class must have one confidence");
              member.classes = codes.data();
            }
            if (geometric) {
              const auto logs_of_rest = part_of<double>(parts[4]);
              require(logs_of_rest.shape(0) == rows, "log_rest must have one entry per case");
              member.log_rest = logs_of_rest.data();
            }
            entries += t.shape(0);
            members.push_back(member);
          }
          const std::size_t room = most < 0 ? entries : std::min(entries, rows * static_cast<std::size_t>(most));
          if (weights.shape(0) != members.size() || classes.shape(0) < room || confidences.shape(0) < room ||
              slack.shape(0) != rows || log_rest.shape(0) != rows ||
              (geometric && (!logs || logs->shape(0) < room)) || size.shape(0) != log_size.shape(0) ||
              (size.shape(0) != 1 && size.shape(0) != rows))
            throw std::invalid_argument("a weight per member, room for every entry");
          const Space space{size.data(), log_size.data(), size.shape(0) == 1 ? std::size_t{0} : std::size_t{1}};
          const Pooled out{classes.data(), confidences.data(), logs ? logs->data() : nullptr, counts.data(),
                           slack.data(), log_rest.data()};
          PoolOutcome outcome;
          {
            nb::gil_scoped_release release;
            outcome = run_pool(geometric, members, weights.data(), space, rows, most, out);
          }
          return nb::make_tuple(outcome.used, outcome.small, outcome.vetoed, outcome.vetoes);
        },
        nb::arg("geometric"), nb::arg("members"), nb::arg("weights"), nb::arg("size"), nb::arg("log_size"),
        nb::arg("most"), nb::arg("classes").noconvert(), nb::arg("confidences").noconvert(),
        nb::arg("logs").none().noconvert(), nb::arg("counts").noconvert(), nb::arg("slack").noconvert(),
        nb::arg("log_rest").noconvert());
}

template <class T>
void bind_select(nb::module_& m) {
  m.def("select",
        [](In2<T> p, Out2<std::int32_t> classes, Out2<double> confidences, Out<double> tail) {
          const std::size_t rows = p.shape(0), k = classes.shape(1);
          require(k <= p.shape(1) && p.shape(1) <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()) &&
                      classes.shape(0) == rows && confidences.shape(0) == rows && confidences.shape(1) == k &&
                      tail.shape(0) == rows,
                  "room for k of the classes of each row");
          nb::gil_scoped_release release;
          run_select(p.data(), p.shape(0), p.shape(1), classes.shape(1), classes.data(), confidences.data(),
                     tail.data());
        },
        nb::arg("p").noconvert(), nb::arg("classes").noconvert(), nb::arg("confidences").noconvert(), nb::arg("tail").noconvert());
}

template <class T>
void bind_sets(nb::module_& m) {
  m.def("best_sets",
        [](In2<T> p, In<std::int64_t> keys, bool logit, bool empty, Out<std::int32_t> counts, Out2<std::int64_t> codes,
           Out2<double> log_p, Out<double> log_rest, std::optional<Out2<std::uint8_t>> bits,
           std::optional<Out2<std::uint8_t>> flip_counts, std::optional<Out<std::int32_t>> flips) {
          const std::size_t rows = p.shape(0), width = p.shape(1), most = codes.shape(1);
          if (keys.shape(0) != width || counts.shape(0) != rows || codes.shape(0) != rows || log_p.shape(0) != rows ||
              log_p.shape(1) != most || log_rest.shape(0) != rows || most < 1 || most >= Set::MASK || width >= Set::MASK)
            throw std::invalid_argument("a key per label, an entry per row, a set at least");
          if (bits && (!flip_counts || !flips || bits->shape(0) != rows || bits->shape(1) != (width + 7) / 8 ||
                       flip_counts->shape(0) != rows || flip_counts->shape(1) != most ||
                       flips->shape(0) < rows * most * most_flips(most + 1)))
            throw std::invalid_argument("bits go with flips");
          const Marginals<T> in{p.data(), rows, width, keys.data(), most, empty};
          const Listed out{counts.data(), codes.data(), log_p.data(), log_rest.data(), bits ? bits->data() : nullptr,
                           bits ? flip_counts->data() : nullptr, bits ? flips->data() : nullptr};
          Outcome outcome;
          {
            nb::gil_scoped_release release;
            outcome = run_sets(in, logit, out);
          }
          return nb::make_tuple(outcome.row, static_cast<int>(outcome.refusal), outcome.flips);
        },
        nb::arg("p").noconvert(), nb::arg("keys"), nb::arg("logit"), nb::arg("empty"), nb::arg("counts").noconvert(),
        nb::arg("codes").noconvert(), nb::arg("log_p").noconvert(), nb::arg("log_rest").noconvert(),
        nb::arg("bits").none().noconvert(), nb::arg("flip_counts").none().noconvert(),
        nb::arg("flips").none().noconvert());
}

}  // namespace

NB_MODULE(_kernel, m) {
  m.doc() = "Compiled kernels of toplist.";
  bind<std::int32_t, double>(m);
  bind<std::int32_t, float>(m);
  bind<std::int64_t, double>(m);
  bind<std::int64_t, float>(m);
  bind_exact(m);
  bind_hash(m);
  bind_pool(m);
  bind_select<double>(m);
  bind_select<float>(m);
  bind_sets<double>(m);
  bind_sets<float>(m);
}
