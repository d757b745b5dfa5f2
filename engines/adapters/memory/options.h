// The memory engine's options: the struct, and its description for the property parser,
// `--describe` and the record. A default is written once, as the member's initial value.
#pragma once

#include "kvdyno/api/options.h"

namespace kvdyno::memory {

struct Options {
  bool persist = true;

  void Describe(OptionTable* table) {
    table->Bool("persist", &persist,
                {.effect = "Write the map to the directory on settle and close, so that the next "
                           "open finds it. Without it every open starts empty.",
                 .shapes_data = true});
  }
};

}  // namespace kvdyno::memory
