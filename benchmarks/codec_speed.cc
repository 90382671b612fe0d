// codec_speed: GB of fp32 that one core encodes and decodes in a second, for every codec and, for
// int8 and int4, for every set of kernels the machine can run.
//
//   cmake --build build --target codec_speed && build/bin/codec_speed
//
// The tensor is one microbatch of 512 tokens by 2048. The best of many rounds is printed, so that
// other work on the machine doesn't count, and the median beside it.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "hairpin/base/random.h"
#include "hairpin/codec/block_row.h"
#include "hairpin/codec/codec.h"

namespace {

using namespace hairpin;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kRows = 512;
constexpr std::uint32_t kColumns = 2048;
constexpr int kRounds = 101;

struct Speed {
  double best;
  double median;
};

Speed measure(const std::function<void()>& work) {
  std::vector<double> speeds;
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = Clock::now();
    work();
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    speeds.push_back(4e-9 * kRows * kColumns / seconds);
  }
  std::ranges::sort(speeds);
  return {speeds.back(), speeds[speeds.size() / 2]};
}

void print(wire::Codec codec, std::string_view kernels, Speed encode, Speed decode) {
  fmt::print(
      "{:5} {:7}  encode {:6.1f} GB/s (median {:5.1f})  decode {:6.1f} GB/s (median {:5.1f})\n",
      wire::codec_name(codec), kernels, encode.best, encode.median, decode.best, decode.median);
}

void whole_tensor(wire::Codec codec, std::vector<float>& values) {
  Bytes payload(codec::encoded_size(codec, kRows, kColumns));
  const auto encode = measure([&] { codec::encode(codec, values, kColumns, payload); });
  const auto decode = measure([&] { (void)codec::decode(codec, payload, kColumns, values); });
  print(codec, "", encode, decode);
}

void with_kernels(wire::Codec codec, const codec::BlockKernels& kernels,
                  std::vector<float>& values) {
  const auto stride = codec::encoded_size(codec, 1, kColumns);
  Bytes payload(stride * kRows);
  const auto rows = [&](auto row_work) {
    for (std::size_t row = 0; row < kRows; ++row)
      row_work(std::span(values).subspan(row * kColumns, kColumns), payload.data() + row * stride);
  };
  const auto encode = measure(
      [&] { rows([&](auto x, auto* out) { codec::encode_block_row(kernels, codec, x, out); }); });
  const auto decode = measure(
      [&] { rows([&](auto x, auto* in) { codec::decode_block_row(kernels, codec, in, x); }); });
  print(codec, kernels.name, encode, decode);
}

}  // namespace

int main() {
  Random random(1);
  std::vector<float> values(std::size_t{kRows} * kColumns);
  for (auto& x : values) x = static_cast<float>(2 * random.unit() - 1);
  using wire::Codec;
  for (const auto codec : {Codec::fp32, Codec::bf16, Codec::int8, Codec::int4})
    whole_tensor(codec, values);
  for (const auto codec : {Codec::int8, Codec::int4})
    for (const auto* kernels : codec::runnable_kernels()) with_kernels(codec, *kernels, values);
}
