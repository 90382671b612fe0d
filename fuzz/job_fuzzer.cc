// Any text as a job, the part after a NUL as an override: refused in one sentence, or a job whose
// resolved file is the same job again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "hairpin/config/job.h"

namespace {

using namespace hairpin;

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto end = input.find('\0');
  std::vector<std::string> overrides;
  if (end != std::string_view::npos) overrides.emplace_back(input.substr(end + 1));

  const auto job = config::parse_job(input.substr(0, end), "job.toml", overrides);
  if (!job) {
    require(job.error().kind == ErrorKind::bad_input);
    require(!job.error().message.empty());
    return 0;
  }
  const auto again = config::parse_job(config::resolved_toml(*job), "job.toml");
  require(again && *again == *job);
  return 0;
}
