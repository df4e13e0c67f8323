// Whether a request means this server: a name that a stranger's DNS points at 127.0.0.1 (rebinding) does not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rung::serve {

struct SameSite {
  std::string_view bound;  // the address that was asked for
  std::string_view local;  // the address that this connection reached
  std::uint16_t port = 0;

  // The Host field: localhost, 127.0.0.1, [::1], the bound or the reached address, with our port (which may
  // be left out if it is 80).
  bool is_host(std::string_view host) const;
  // The Origin field: http:// and such a host.
  bool is_origin(std::string_view origin) const;
  std::string expected() const;  // "localhost:8017, 127.0.0.1:8017"
};

}  // namespace rung::serve
