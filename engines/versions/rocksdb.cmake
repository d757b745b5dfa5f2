# How RocksDB is built for the adapters: included at the end of its project() command.
#
# What no adapter uses is left out, and sources are compiled several at a time: their headers cost more than
# they do. The linker refuses a library that misses a symbol. db_bench needs what is left out; target
# kvdyno-tools builds both beside the library, which stays the same file.
set(KVDYNO_LEFT_OUT
  "^tools/"
  "^db_stress_tool/"
  "^db/c\\.cc"
  "^utilities/(agg_merge|backup|blob_db|cache_dump|cassandra|checkpoint|copy_engine|env_mirror)"
  "^utilities/(fault_injection|leveldb_options|option_change|persistent_cache|secondary_index)"
  "^utilities/(simulator_cache|sorted_run|ttl|transactions/lock/range)"
  # In 5.17 alone.
  "^utilities/(col_buf|column_aware|date_tiered|document|geodb|lua|redis|spatialdb)")
list(JOIN KVDYNO_LEFT_OUT "|" KVDYNO_LEFT_OUT)
set(KVDYNO_BATCH 24)

function(kvdyno_trim)
  get_target_property(kept rocksdb-shared SOURCES)
  set(left_out ${kept})
  list(FILTER kept EXCLUDE REGEX ${KVDYNO_LEFT_OUT})
  list(FILTER left_out INCLUDE REGEX ${KVDYNO_LEFT_OUT})
  set_target_properties(rocksdb-shared PROPERTIES
    SOURCES "${kept}" UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${KVDYNO_BATCH})
  target_link_options(rocksdb-shared PRIVATE -Wl,-z,defs)

  add_library(kvdyno-rest STATIC EXCLUDE_FROM_ALL ${left_out})
  set_target_properties(kvdyno-rest PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${KVDYNO_BATCH})
  file(GLOB parts tools/simulated_hybrid_file_system.cc tools/tool_hooks.cc)  # not in 5.17; since 9
  add_executable(db_bench EXCLUDE_FROM_ALL tools/db_bench.cc tools/db_bench_tool.cc ${parts})
  target_compile_definitions(db_bench PRIVATE GFLAGS=1)
  set_target_properties(db_bench PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/kvdyno-tools
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/../lib")
  target_link_libraries(db_bench kvdyno-rest rocksdb-shared gflags Threads::Threads)
  add_custom_target(kvdyno-tools DEPENDS db_bench)
endfunction()
cmake_language(DEFER CALL kvdyno_trim)
