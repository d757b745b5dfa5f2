# For engines on a stock RocksDB: include(../rocksdb/family.cmake).

# What the family's tuners use of RocksDB's interface is all there since this version.
set(KVDYNO_ROCKSDB_OLDEST 7.0)

# kvdyno_add_rocksdb_engine(<name> ...): as kvdyno_add_engine, linked with the family; skipped with a
# message where RocksDB is absent or too old.
function(kvdyno_add_rocksdb_engine name)
  kvdyno_find_library(engine::rocksdb rocksdb rocksdb/db.h)
  if(NOT TARGET engine::rocksdb)
    kvdyno_skip_engine(${name})
    return()
  endif()

  get_target_property(headers engine::rocksdb INTERFACE_INCLUDE_DIRECTORIES)
  file(STRINGS ${headers}/rocksdb/version.h lines
       REGEX "^#define ROCKSDB_(MAJOR|MINOR) ")
  string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*" "\\1.\\2" version "${lines}")
  if(version VERSION_LESS KVDYNO_ROCKSDB_OLDEST)
    message(STATUS "Engine ${name}: skipped, it needs RocksDB ${KVDYNO_ROCKSDB_OLDEST} or later, "
                   "and ${headers} has ${version}")
    return()
  endif()

  kvdyno_add_engine(${ARGV})
  target_link_libraries(${name}_adapter PUBLIC rocksdb_family)
endfunction()
