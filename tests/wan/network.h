// A network namespace with one TUN device in it. Nobody else knows the namespace: it has no name,
// only this process holds it, and it is gone with the last process in it, however that one ends.
#pragma once

#include <string>

#include "hairpin/base/result.h"

namespace hairpin::wan {

class Network {
 public:
  // The device has `address` and reaches `peer`, both IPv4. Where this process may not make one:
  // bad_input, a sentence that says what is missing.
  static Result<Network> make(const std::string& address, const std::string& peer, int mtu);
  Network(Network&& other) noexcept;
  Network& operator=(Network&&) = delete;
  ~Network();

  // What programs inside send, and where to write what shall reach them: one whole IP packet a
  // read or write. Never blocks.
  int packets() const { return packets_; }
  // For `nsenter --net=PATH`, as long as this process lives.
  std::string path() const;

 private:
  Network() = default;
  int namespace_ = -1;
  int packets_ = -1;
};

}  // namespace hairpin::wan
