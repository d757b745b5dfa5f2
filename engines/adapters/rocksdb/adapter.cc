// RocksDB as it comes: all that it is, is in family.h.
#include "kvdyno/rocksdb/family.h"

namespace kvdyno {

namespace {

class RocksAdapter final : public rocks::RocksFamily {
 public:
  std::string engine_name() const override { return "rocksdb"; }
  std::string summary() const override {
    return "Log-structured merge tree of Meta Platforms, as packaged (https://rocksdb.org).";
  }
};

}  // namespace

std::unique_ptr<Adapter> MakeAdapter() { return std::make_unique<RocksAdapter>(); }

}  // namespace kvdyno
