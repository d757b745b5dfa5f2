# How LevelDB is built for its adapter: included at the end of its project() command.
#
# LevelDB takes the instructions of its checksums from a library crc32c. Here that is the chunk store's own
# code under the library's interface, so that both compute alike. The adapter derives from LevelDB's
# classes, which needs their type information.
set(HAVE_CRC32C ON CACHE INTERNAL "")
set(KVDYNO_ENGINES ${CMAKE_CURRENT_LIST_DIR}/..)

add_library(crc32c STATIC ${CMAKE_CURRENT_LIST_DIR}/crc32c/crc32c.cc ${KVDYNO_ENGINES}/base/crc32c.cc)
target_include_directories(crc32c
  PUBLIC ${CMAKE_CURRENT_LIST_DIR}
  PRIVATE ${KVDYNO_ENGINES}/base ${KVDYNO_ENGINES}/base/include)
set_target_properties(crc32c PROPERTIES
  CXX_STANDARD 20 POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)

function(kvdyno_keep_types)
  target_compile_options(leveldb PRIVATE -frtti)
endfunction()
cmake_language(DEFER CALL kvdyno_keep_types)
