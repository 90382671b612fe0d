// Fixed little-endian encoding, the only byte order Hairpin writes. Used by every byte format.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hairpin {

static_assert(std::endian::native == std::endian::little,
              "Hairpin's byte formats are little-endian and are copied, not swapped");

using Bytes = std::vector<std::byte>;
using ByteSpan = std::span<const std::byte>;

inline ByteSpan as_byte_span(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
inline std::string_view as_text(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class T>
concept FixedNumber = std::integral<T> || std::floating_point<T>;

// Appends to a buffer it does not own.
class ByteWriter {
 public:
  explicit ByteWriter(Bytes& out) : out_(out) {}

  template <FixedNumber T>
  void number(T value) {
    raw({reinterpret_cast<const std::byte*>(&value), sizeof value});
  }
  // A u32 length, then the bytes.
  void text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()));
    raw(as_byte_span(value));
  }
  void raw(ByteSpan bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }

 private:
  Bytes& out_;
};

// Reads from bytes it does not own. The first read past the end makes every later one empty too,
// so a decoder may read all its fields and ask `ok()` once.
class ByteReader {
 public:
  explicit ByteReader(ByteSpan bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  bool at_end() const { return bytes_.empty(); }
  std::size_t remaining() const { return bytes_.size(); }

  template <FixedNumber T>
  T number() {
    T value{};
    if (const auto taken = raw(sizeof value); ok_) std::memcpy(&value, taken.data(), sizeof value);
    return value;
  }
  // A text of at most `max_size` bytes; longer ones fail before anything is allocated.
  std::string text(std::size_t max_size) {
    const auto size = number<std::uint32_t>();
    if (size > max_size) ok_ = false;
    return std::string(as_text(raw(ok_ ? size : 0)));
  }
  ByteSpan raw(std::size_t size) {
    if (!ok_ || size > bytes_.size()) {
      ok_ = false;
      return {};
    }
    const auto taken = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    return taken;
  }

 private:
  ByteSpan bytes_;
  bool ok_ = true;
};

}  // namespace hairpin
