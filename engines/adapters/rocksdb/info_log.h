// The store's LOG file.
//
// RocksDB's own logger takes a second failed write for a defect where the library was built with
// its assertions, as Debian's is (7.8, file/writable_file_writer.h), and so a full disk aborts the
// process; this one drops what it cannot write.
#pragma once

#include <rocksdb/env.h>
#include <rocksdb/options.h>

#include <memory>
#include <string>

#include "kvdyno/base/status.h"

namespace kvdyno::rocks {

// Opens LOG, for appending, in `options`' db_log_dir or, where it names none, in the store's
// directory, which is made when absent. IoError when it cannot be opened.
Status OpenInfoLog(const std::string& directory, const rocksdb::DBOptions& options,
                   std::shared_ptr<rocksdb::Logger>* log);

}  // namespace kvdyno::rocks
