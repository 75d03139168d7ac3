// A 64-bit hash of texts: the length and then words of eight bytes, the last one filled up with zeros, go through the
// finalizer of SplitMix64 one after the other. `kernel.hash_text` gives the same numbers without a compiler.
#pragma once
#include <cstring>

#include "list_view.hpp"

namespace toplist {

TOPLIST_INLINE std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ x >> 27) * 0x94D049BB133111EBULL;
  return x ^ x >> 31;
}

TOPLIST_INLINE std::uint64_t word_at(const unsigned char* text) {
  std::uint64_t word;
  std::memcpy(&word, text, 8);
  return word;
}

TOPLIST_INLINE std::uint64_t hash_start(std::size_t length, std::uint64_t seed) {
  return mix(seed ^ mix(length + 0x9E3779B97F4A7C15ULL));
}

TOPLIST_INLINE std::uint64_t hash_bytes(const unsigned char* text, std::size_t length, std::uint64_t seed) {
  std::uint64_t hash = hash_start(length, seed);
  const unsigned char* end = text + length;
  for (std::size_t left = length; left >= 8; text += 8, left -= 8) hash = mix(hash ^ word_at(text));
  if (text == end) return hash;
  std::uint64_t last = 0;
  if (length >= 8)  // the bytes before the last ones are shifted out
    last = word_at(end - 8) >> 8 * (8 - (end - text));
  else
    for (unsigned at = 0; text != end; ++text, at += 8) last |= static_cast<std::uint64_t>(*text) << at;
  return mix(hash ^ last);
}

TOPLIST_INLINE void hash_text(const unsigned char* data, const std::int64_t* offsets, std::size_t rows,
                              std::uint64_t seed, std::uint64_t* out) {
  for (std::size_t i = 0; i < rows; ++i)
    out[i] = hash_bytes(data + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i]), seed);
}

// The hash of the decimal text of each number, which is written backwards before eight zeros.
template <class I>
TOPLIST_INLINE void hash_integers(const I* values, std::size_t rows, std::uint64_t seed, std::uint64_t* out) {
  unsigned char buffer[32] = {};
  unsigned char* const end = buffer + 24;
  for (std::size_t i = 0; i < rows; ++i) {
    const bool negative = values[i] < 0;
    std::uint64_t rest = negative ? 0 - static_cast<std::uint64_t>(values[i]) : static_cast<std::uint64_t>(values[i]);
    unsigned char* text = end;
    for (; rest >= 10; rest /= 100) {
      const std::uint64_t two = rest % 100;
      *--text = static_cast<unsigned char>('0' + two % 10);
      *--text = static_cast<unsigned char>('0' + two / 10);
    }
    if (rest || text == end) *--text = static_cast<unsigned char>('0' + rest);
    if (negative) *--text = '-';
    std::uint64_t hash = hash_start(static_cast<std::size_t>(end - text), seed);
    for (; text < end; text += 8) hash = mix(hash ^ word_at(text));
    out[i] = hash;
  }
}

}  // namespace toplist
