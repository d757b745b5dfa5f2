// CURRENT, and the names of manifests, segments and spilled payloads: a name and its number stand
// for each other.
#include <string>

#include "funk/format.h"
#include "kvdyno/base/testing/fuzz.h"
#include "manifest/file.h"
#include "manifest/text.h"
#include "stage/record.h"

using namespace chunkstore;
using kvdyno::testing::Require;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes = kvdyno::testing::View(data, size);
  uint64_t number = 0;
  if (DecodeCurrent(bytes, &number).ok()) {
    Require(EncodeCurrent(number) == bytes, "one spelling of CURRENT");
  }
  if (ParseManifestName(bytes, &number)) {
    Require(ManifestName(number) == bytes, "one name of a manifest");
  }
  if (ParseSegmentName(bytes, &number)) {
    Require(SegmentName(number) == bytes, "one name of a segment");
  }
  if (ParseSpillName(bytes, &number)) {
    Require(SpillName(number) == bytes, "one name of a spilled payload");
  }
  std::string unescaped;
  Require(Unescaped(Escaped(bytes), &unescaped) && unescaped == bytes,
          "escaped bytes to come back");
  (void)Unescaped(bytes, &unescaped);
  return 0;
}
