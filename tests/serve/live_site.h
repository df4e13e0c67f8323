// A server inside the test, on a port of its own.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "rung/serve/listener.h"
#include "rung/serve/running_sweeps.h"
#include "rung/serve/site.h"
#include "tests/serve/wire.h"

namespace rung::serve::test {

struct LiveSite {
  explicit LiveSite(const Limits& limits = {}, const std::string& store = "no-such-store.sqlite")
      : sweeps(store),
        site(
            {.page =
                 [] {
                   return Result<std::string>(std::string(
                       "<!doctype html><script>1</script><script type=\"application/json\">{}</script>"));
                 },
             .document = [] { return Result<std::string>(std::string("{\"schema\": \"rung.report/2\"}\n")); },
             .runs = [this](const std::string& seen) { return sweeps.document(seen); }}) {
    auto opened = Listener::open({.port = 0, .limits = limits}, site);
    if (!opened) ADD_FAILURE() << opened.error().message;
    listener = std::move(*opened);
  }
  int port() const { return listener->port(); }

  RunningSweeps sweeps;
  Site site;
  std::unique_ptr<Listener> listener;
};

}  // namespace rung::serve::test
