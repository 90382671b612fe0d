#include "hairpin/tokenizer/bpe.h"

#include <functional>
#include <queue>
#include <utility>

#include "hairpin/base/check.h"

namespace hairpin::tokenizer {
namespace {

constexpr std::int32_t kNone = -1;

std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) |
         static_cast<std::uint32_t>(right);
}

// A possible merge of the symbol at `at` with its right neighbour, when it was seen.
struct Candidate {
  std::int32_t rank, at, merged;
  bool operator>(const Candidate& other) const {
    return std::pair(rank, at) > std::pair(other.rank, other.at);
  }
};

}  // namespace

// A doubly linked list in a vector; a symbol swallowed by its left neighbour has no id.
struct Bpe::Symbol {
  std::int32_t id, previous, next;
  std::uint32_t offset;
};

class Bpe::Queue {
 public:
  Queue(const Bpe& bpe, std::vector<Symbol>& symbols) : bpe_(bpe), symbols_(symbols) {}

  void add(std::int32_t at) {
    if (at == kNone || symbols_[static_cast<std::size_t>(at)].next == kNone) return;
    if (const Ranked* merge = merge_at(at)) heap_.push({merge->rank, at, merge->merged});
  }
  void run() {
    while (!heap_.empty()) {
      const Candidate best = heap_.top();
      heap_.pop();
      if (still_holds(best)) apply(best);
    }
  }

 private:
  Symbol& symbol(std::int32_t at) { return symbols_[static_cast<std::size_t>(at)]; }
  const Ranked* merge_at(std::int32_t at) {
    return bpe_.merge_of(symbol(at).id, symbol(symbol(at).next).id);
  }
  bool still_holds(const Candidate& candidate) {
    const Symbol& left = symbol(candidate.at);
    if (left.id == kNone || left.next == kNone) return false;
    const Ranked* merge = merge_at(candidate.at);
    return merge && merge->merged == candidate.merged;
  }
  void apply(const Candidate& candidate) {
    Symbol& left = symbol(candidate.at);
    Symbol& right = symbol(left.next);
    left.id = candidate.merged;
    left.next = std::exchange(right.next, kNone);
    right.id = kNone;
    if (left.next != kNone) symbol(left.next).previous = candidate.at;
    add(left.previous);
    add(candidate.at);
  }

  const Bpe& bpe_;
  std::vector<Symbol>& symbols_;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> heap_;
};

Bpe::Bpe(std::unordered_map<std::string, std::int32_t> id_of_bytes,
         const std::vector<Merge>& merges, std::optional<std::int32_t> unknown, bool whole_words)
    : id_of_bytes_(std::move(id_of_bytes)) {
  for (std::size_t byte = 0; byte < id_of_byte_.size(); ++byte) {
    const auto found = id_of_bytes_.find(std::string(1, static_cast<char>(byte)));
    id_of_byte_[byte] = found == id_of_bytes_.end() ? unknown.value_or(kNone) : found->second;
  }
  merges_.reserve(merges.size());
  std::int32_t rank = 0;
  for (const auto& [left, right, merged] : merges)
    merges_[pair_key(left, right)] = {rank++, merged};
  if (whole_words)
    for (const auto& [bytes, id] : id_of_bytes_) single_.emplace(bytes, id);
  else
    find_whole_words();
}

// A token's own bytes do not always merge back into it, so each is tried once.
void Bpe::find_whole_words() {
  constexpr std::size_t kLongest = 32;
  std::unordered_map<std::string_view, std::int32_t> found;
  std::vector<PieceToken> tokens;
  for (const auto& [bytes, id] : id_of_bytes_) {
    if (bytes.empty() || bytes.size() > kLongest) continue;
    tokens.clear();
    merge_all(bytes, tokens);
    if (tokens.size() == 1 && tokens[0].id == id) found.emplace(bytes, id);
  }
  single_ = std::move(found);
}

const Bpe::Ranked* Bpe::merge_of(std::int32_t left, std::int32_t right) const {
  const auto found = merges_.find(pair_key(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

void Bpe::encode(std::string_view piece, std::vector<PieceToken>& out) const {
  if (const auto found = single_.find(piece); found != single_.end())
    out.push_back({found->second, 0});
  else
    merge_all(piece, out);
}

void Bpe::merge_all(std::string_view piece, std::vector<PieceToken>& out) const {
  HAIRPIN_CHECK(piece.size() < (std::size_t{1} << 31), "a piece of {} bytes", piece.size());
  std::vector<Symbol> symbols;
  symbols.reserve(piece.size());
  for (std::size_t i = 0; i < piece.size(); ++i) {
    const std::int32_t id = id_of_byte_[static_cast<unsigned char>(piece[i])];
    if (id == kNone) continue;
    const auto at = static_cast<std::int32_t>(symbols.size());
    symbols.push_back({id, at - 1, at + 1, static_cast<std::uint32_t>(i)});
  }
  if (symbols.empty()) return;
  symbols.back().next = kNone;
  Queue queue(*this, symbols);
  for (std::size_t at = 0; at < symbols.size(); ++at) queue.add(static_cast<std::int32_t>(at));
  queue.run();
  for (std::int32_t at = 0; at != kNone; at = symbols[static_cast<std::size_t>(at)].next)
    out.push_back(
        {symbols[static_cast<std::size_t>(at)].id, symbols[static_cast<std::size_t>(at)].offset});
}

}  // namespace hairpin::tokenizer
