// DumpDocument: what chunkstore_dump shows, as a JSON document. Reads only; knows no command line.
// Bytes are in "bytes", keys escaped (manifest/text.h), versions "epoch:number". One thread.
#pragma once

#include <cstdint>
#include <string>

#include "entry/entry.h"
#include "kvdyno/base/file_system.h"
#include "tools/render.h"

namespace chunkstore {

struct DumpRequest {
  std::string what = {};  // "manifest", "chunk", "funk", "segment", "ring", "warmth"
  std::string directory = {};
  std::string key = {};  // of the chunk
  bool by_id = false;    // `number` is the chunk's instead
  uint64_t number = 0;   // of the chunk or segment
  uint64_t limit = 100;  // chunks or entries of one list; 0: all
};

// After an error the document holds what could be read before.
Status Dump(kvdyno::FileSystem* files, const DumpRequest& request, Json* document);

}  // namespace chunkstore
