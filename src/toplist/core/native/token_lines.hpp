// The tokens that servers list at one position of each response, from lines of JSON; see json_lines.hpp.
#pragma once
#include "json_lines.hpp"

namespace toplist {

// Offsets have 32 bits. Nothing that is made of a text is longer than it, but for the last end of a line.
constexpr std::size_t MOST_TEXT = std::size_t{1} << 30;

// Texts that lie one after the other, with where each of them ends.
struct Texts {
  std::string data;
  std::vector<std::int32_t> offsets{0};

  void add(std::string_view one) {
    data.append(one);
    end();
  }
  void end() { offsets.push_back(static_cast<std::int32_t>(data.size())); }
  std::size_t size() const { return offsets.size() - 1; }
  std::string_view operator[](std::size_t i) const {
    const auto lo = static_cast<std::size_t>(offsets[i]), hi = static_cast<std::size_t>(offsets[i + 1]);
    return std::string_view(data).substr(lo, hi - lo);
  }
};

// Different texts, numbered as they come, by open addressing.
class Dictionary {
 public:
  std::int32_t code(std::string_view text) {
    if (2 * (texts_.size() + 1) > slots_.size()) grow();
    std::size_t at = place(text);
    for (; slots_[at] >= 0; at = (at + 1) & (slots_.size() - 1))
      if (texts_[static_cast<std::size_t>(slots_[at])] == text) return slots_[at];
    slots_[at] = static_cast<std::int32_t>(texts_.size());
    texts_.add(text);
    return slots_[at];
  }
  const Texts& texts() const { return texts_; }

 private:
  Texts texts_;
  std::vector<std::int32_t> slots_ = std::vector<std::int32_t>(256, -1);

  std::size_t place(std::string_view text) const {
    return std::hash<std::string_view>{}(text) & (slots_.size() - 1);
  }
  void grow() {
    slots_.assign(2 * slots_.size(), -1);
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      std::size_t at = place(texts_[i]);
      while (slots_[at] >= 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = static_cast<std::int32_t>(i);
    }
  }
};

struct TokenQuery {
  std::vector<std::string> path;     // of the list of positions; "0" is the one element of an array
  std::vector<std::string> members;  // of records, that are copied
  std::int64_t position;             // from 0
  bool with_bytes;
};

struct TokenLines {
  std::string members;                  // one object per record, in a line
  std::vector<std::int32_t> positions;  // of each record, up to the one that is asked for
  std::vector<std::int32_t> sizes;      // of each of these the tokens: none before the one that is asked for
  std::vector<std::int32_t> codes;      // of each token its text
  Dictionary words;
  Texts logprobs;                       // as they are written; "nan" for none
  Texts bytes;                          // if asked for
  std::vector<std::uint8_t> has_bytes;
  bool repeated = false;                // whether a record lists a text twice
};

class TokenScanner {
 public:
  TokenScanner(std::string_view text, const TokenQuery& query)
      : in_(text.data(), text.data() + text.size()), query_(query) {}

  // Whether all lines could be read.
  bool run() {
    while (true) {
      in_.blank();
      if (in_.at_end()) return true;
      if (in_.peek() != '\n' && !record()) return false;
      in_.blank();
      if (in_.at_end()) return true;
      if (!in_.take('\n')) return false;
    }
  }

  TokenLines out;

 private:
  JsonCursor in_;
  const TokenQuery& query_;
  std::vector<std::int64_t> last_;  // the record that had a text last, by its code
  std::string room_;                // for a text without its escapes

  bool record() {
    bool seen = false, first = true;
    out.positions.push_back(0);
    out.members.push_back('{');
    const bool fine = in_.object([&](std::string_view key) {
      const char* const begin = key.data() - 1;
      if (key != query_.path[0]) {
        if (!in_.skip()) return false;
      } else if (seen || !inside(1)) {
        return false;
      } else {
        seen = true;
      }
      for (const std::string& one : query_.members)
        if (key == one) {
          if (!first) out.members.push_back(',');
          out.members.append(begin, in_.at());
          first = false;
        }
      return true;
    });
    out.members.append("}\n");
    return fine;
  }

  // The value below the first `step` parts of the path.
  bool inside(std::size_t step) {
    if (in_.null()) return true;
    if (step == query_.path.size()) return in_.array([&] { return position(); });
    bool seen = false;
    if (query_.path[step] == "0")
      return in_.array([&] {
        const bool fine = !seen && inside(step + 1);
        seen = true;
        return fine;
      });
    return in_.object([&](std::string_view key) {
      if (key != query_.path[step]) return in_.skip();
      const bool fine = !seen && inside(step + 1);
      seen = true;
      return fine;
    });
  }

  bool position() {
    in_.blank();
    if (out.positions.back() > query_.position) return in_.peek() == '{' && in_.skip();
    const bool asked = out.positions.back() == query_.position;
    ++out.positions.back();
    out.sizes.push_back(0);
    bool has_token = false, has_top = false;
    return in_.object([&](std::string_view key) {
      std::string_view unused;
      bool escaped;
      if (key == "token") {
        if (has_token) return false;
        has_token = true;
        return in_.null() || in_.text(unused, escaped);
      }
      if (key != "top_logprobs") return in_.skip();
      if (has_top) return false;
      has_top = true;
      return in_.null() || in_.array([&] { return token(asked); });
    });
  }

  bool token(bool asked) {
    std::string_view text, logprob;
    bool escaped = false, has_text = false, has_logprob = false, has_bytes = false, known = false;
    const std::size_t before = out.bytes.data.size();
    const bool fine = in_.object([&](std::string_view key) {
      if (key == "token") {
        if (has_text) return false;
        has_text = true;
        return in_.text(text, escaped);
      }
      if (key == "logprob") {
        if (has_logprob) return false;
        has_logprob = true;
        return in_.null() || in_.number(logprob);
      }
      if (key != "bytes" || !query_.with_bytes) return in_.skip();
      if (has_bytes) return false;
      has_bytes = true;
      if (in_.null()) return true;
      known = true;
      return in_.array([&] { return byte(); });
    });
    if (!fine || !has_text) return false;
    if (!asked) {
      out.bytes.data.resize(before);
      return true;
    }
    if (escaped) {
      unescape(text, room_);
      text = room_;
    }
    const std::int32_t code = out.words.code(text);
    const auto record = static_cast<std::int64_t>(out.positions.size());
    if (static_cast<std::size_t>(code) == last_.size()) last_.push_back(0);
    out.repeated |= last_[static_cast<std::size_t>(code)] == record;
    last_[static_cast<std::size_t>(code)] = record;
    ++out.sizes.back();
    out.codes.push_back(code);
    out.logprobs.add(logprob.empty() ? std::string_view("nan") : logprob);
    if (query_.with_bytes) {
      out.bytes.end();
      out.has_bytes.push_back(known ? 1 : 0);
    }
    return true;
  }

  bool byte() {
    std::string_view written;
    if (!in_.number(written) || written.size() > 3) return false;
    int value = 0;
    for (const char c : written) {
      if (c < '0' || c > '9') return false;
      value = 10 * value + (c - '0');
    }
    out.bytes.data.push_back(static_cast<char>(static_cast<unsigned char>(value)));
    return value < 256;
  }
};

}  // namespace toplist
