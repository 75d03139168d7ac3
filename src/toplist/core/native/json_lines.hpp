// Lines of JSON, one object each, with lists of tokens somewhere inside: the tokens listed at one position of each
// record, and some members of the records as they are written. Everything is checked: it is JSON as RFC 8259 has it, in
// UTF-8. What is unusual is refused with all lines, for the caller to read in another way: a value of another type than
// expected, a field that is there twice, a key with an escape in it, half a surrogate pair, a record with several
// elements where one is expected, deep nesting.
#pragma once
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace toplist {

// Reads JSON from front to back. Every function returns whether it found what it is called for, and is then behind it.
class JsonCursor {
 public:
  JsonCursor(const char* begin, const char* end) : at_(begin), end_(end) {}

  const char* at() const { return at_; }
  bool at_end() const { return at_ == end_; }
  char peek() const { return at_ == end_ ? '\0' : *at_; }  // a zero byte begins nothing

  // No line ends inside a record.
  void blank() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }

  bool take(char mark) {
    blank();
    if (peek() != mark) return false;
    ++at_;
    return true;
  }

  bool word(std::string_view wanted) {
    if (static_cast<std::size_t>(end_ - at_) < wanted.size() || std::memcmp(at_, wanted.data(), wanted.size()) != 0)
      return false;
    at_ += wanted.size();
    return true;
  }

  bool null() {
    blank();
    return word("null");
  }

  // What stands between the quotation marks, and whether there are escapes in it.
  bool text(std::string_view& inside, bool& escaped) {
    if (!take('"')) return false;
    const char* const begin = at_;
    escaped = false;
    while (true) {
      plain_characters();
      const unsigned char c = static_cast<unsigned char>(peek());
      if (c == '"') break;
      if (c == '\\') {
        escaped = true;
        if (!escape()) return false;
      } else if (c < 0x80 || !several_bytes()) {  // a control character, or the end
        return false;
      }
    }
    inside = {begin, static_cast<std::size_t>(at_ - begin)};
    ++at_;
    return true;
  }

  bool number(std::string_view& written) {
    blank();
    const char* const begin = at_;
    if (peek() == '-') ++at_;
    if (peek() == '0')
      ++at_;
    else if (!digits())
      return false;
    if (peek() == '.') {
      ++at_;
      if (!digits()) return false;
    }
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!digits()) return false;
    }
    written = {begin, static_cast<std::size_t>(at_ - begin)};
    return true;
  }

  // An object: `member` is called with each key, and goes behind its value.
  template <class Member>
  bool object(Member&& member) {
    if (!take('{')) return false;
    if (take('}')) return true;
    do {
      std::string_view key;
      bool escaped;
      if (!text(key, escaped) || escaped || !take(':') || !member(key)) return false;
    } while (take(','));
    return take('}');
  }

  // An array: `element` is called at each element, and goes behind it.
  template <class Element>
  bool array(Element&& element) {
    if (!take('[')) return false;
    if (take(']')) return true;
    do {
      if (!element()) return false;
    } while (take(','));
    return take(']');
  }

  // Any value.
  bool skip(int depth = 0) {
    constexpr int DEEPEST = 64;
    if (depth > DEEPEST) return false;
    std::string_view unused;
    bool escaped;
    blank();
    switch (peek()) {
      case '{': return object([&](std::string_view) { return skip(depth + 1); });
      case '[': return array([&] { return skip(depth + 1); });
      case '"': return text(unused, escaped);
      case 't': return word("true");
      case 'f': return word("false");
      case 'n': return word("null");
      default: return number(unused);
    }
  }

 private:
  const char* at_;
  const char* const end_;

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  bool digits() {
    const char* const begin = at_;
    while (at_ != end_ && is_digit(*at_)) ++at_;
    return at_ != begin;
  }

  // To the next byte that is no printable ASCII character, or is a quotation mark or a backslash.
  void plain_characters() {
    constexpr std::uint64_t ONES = 0x0101010101010101ULL, HIGH = 0x80 * ONES;
    while (end_ - at_ >= 8) {
      std::uint64_t eight;
      std::memcpy(&eight, at_, 8);
      const std::uint64_t quote = eight ^ ('"' * ONES), backslash = eight ^ ('\\' * ONES);
      // A byte of zero, or one below 32, borrows from its highest bit; a byte above 127 has it.
      if ((((quote - ONES) | (backslash - ONES) | (eight - 32 * ONES) | eight) & HIGH) != 0) break;
      at_ += 8;
    }
    while (at_ != end_ && static_cast<unsigned char>(*at_) >= 32 && static_cast<unsigned char>(*at_) < 0x80 &&
           *at_ != '"' && *at_ != '\\')
      ++at_;
  }

  // A character of two to four bytes: no longer than it has to be, no half of a surrogate pair, at most U+10FFFF.
  bool several_bytes() {
    const auto byte = [this](int i) { return end_ - at_ > i ? static_cast<unsigned char>(at_[i]) : 0; };
    const auto follows = [&](int i) { return (byte(i) & 0xC0) == 0x80; };
    const int first = byte(0), second = byte(1);
    int length;
    if (first >= 0xC2 && first <= 0xDF) {
      length = 2;
    } else if (first >= 0xE0 && first <= 0xEF) {
      length = 3;
      if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F)) return false;
    } else if (first >= 0xF0 && first <= 0xF4) {
      length = 4;
      if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) return false;
    } else {
      return false;
    }
    for (int i = 1; i < length; ++i)
      if (!follows(i)) return false;
    at_ += length;
    return true;
  }

  bool escape() {
    ++at_;
    const char kind = peek();
    if (kind == 'u') {
      ++at_;
      std::uint32_t unit;
      if (!unit_of_four(unit) || (unit >= 0xDC00 && unit <= 0xDFFF)) return false;
      return unit < 0xD800 || unit > 0xDFFF || (word("\\u") && unit_of_four(unit) && unit >= 0xDC00 && unit <= 0xDFFF);
    }
    if (kind == '\0' || std::strchr("\"\\/bfnrt", kind) == nullptr) return false;
    ++at_;
    return true;
  }

  bool unit_of_four(std::uint32_t& unit) {
    if (end_ - at_ < 4) return false;
    unit = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = at_[i];
      const int digit = is_digit(c)              ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return false;
      unit = 16 * unit + static_cast<std::uint32_t>(digit);
    }
    at_ += 4;
    return true;
  }
};

// A text without its escapes, which `JsonCursor::text` has checked.
inline void unescape(std::string_view inside, std::string& out) {
  const auto hexadecimal = [&](std::size_t from) {
    std::uint32_t unit = 0;
    for (std::size_t i = from; i < from + 4; ++i) {
      const auto c = static_cast<unsigned char>(inside[i]);
      unit = 16 * unit + (c <= '9' ? c - '0' : (c | 0x20U) - 'a' + 10U);
    }
    return unit;
  };
  out.clear();
  for (std::size_t i = 0; i < inside.size(); ++i) {
    if (inside[i] != '\\') {
      out.push_back(inside[i]);
      continue;
    }
    switch (const char kind = inside[++i]) {
      case 'b': out.push_back('\b'); break;
      case 'f': out.push_back('\f'); break;
      case 'n': out.push_back('\n'); break;
      case 'r': out.push_back('\r'); break;
      case 't': out.push_back('\t'); break;
      case 'u': {
        std::uint32_t code = hexadecimal(i + 1);
        i += 4;
        if (code >= 0xD800 && code <= 0xDFFF) {
          code = 0x10000 + ((code - 0xD800) << 10) + (hexadecimal(i + 3) - 0xDC00);
          i += 6;
        }
        const auto add = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
        if (code < 0x80) {
          add(code);
        } else if (code < 0x800) {
          add(0xC0 | code >> 6);
          add(0x80 | (code & 0x3F));
        } else if (code < 0x10000) {
          add(0xE0 | code >> 12);
          add(0x80 | (code >> 6 & 0x3F));
          add(0x80 | (code & 0x3F));
        } else {
          add(0xF0 | code >> 18);
          add(0x80 | (code >> 12 & 0x3F));
          add(0x80 | (code >> 6 & 0x3F));
          add(0x80 | (code & 0x3F));
        }
        break;
      }
      default: out.push_back(kind);
    }
  }
}

}  // namespace toplist
