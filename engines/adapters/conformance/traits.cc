#include "traits.h"

namespace kvdyno::conformance {

const Traits kTraits = {.rows_have_keys = !KVDYNO_KEYLESS_ROWS};

}  // namespace kvdyno::conformance
