# What an engine's CMakeLists.txt may call.

# Engines come as packages without thread sanitizer, which cannot see how they synchronise.
set(KVDYNO_ENGINE_ENVIRONMENT ENVIRONMENT
  "TSAN_OPTIONS=ignore_noninstrumented_modules=1:suppressions=${CMAKE_CURRENT_LIST_DIR}/tsan.supp")

# kvdyno_add_engine(<name>
#   SOURCES <file>...              the adapter; defines kvdyno::MakeAdapter()
#   [LIBRARIES <target>...]        the engine itself
#   [WITHOUT_CONFORMANCE <reason>] only for what is no store; the reason is printed
#   [KEYLESS_ROWS]                 scans return values without their keys
#   [EXCUSED_FROM <test>...])      conformance tests (gtest patterns) that cannot apply; say why
#
# makes the adapter (which sees the API and its own engine, nothing else), the driver binary
# kvdyno-<name>, the conformance test <name>_conformance and, of the folder's *_test.cc, the
# test <name>_test.
function(kvdyno_add_engine name)
  cmake_parse_arguments(PARSE_ARGV 1 ENGINE "KEYLESS_ROWS" "WITHOUT_CONFORMANCE"
                        "SOURCES;LIBRARIES;EXCUSED_FROM")
  if(ENGINE_UNPARSED_ARGUMENTS OR NOT ENGINE_SOURCES)
    message(FATAL_ERROR "kvdyno_add_engine(${name}): expected SOURCES, got '${ARGN}'")
  endif()

  # Object libraries, so that a binding's static registration is not dropped by the linker.
  add_library(${name}_adapter OBJECT ${ENGINE_SOURCES})
  target_link_libraries(${name}_adapter PUBLIC kvdyno_api ${ENGINE_LIBRARIES} PRIVATE kvdyno_flags)

  add_executable(kvdyno-${name} ${PROJECT_SOURCE_DIR}/engines/driver/main.cc)
  target_link_libraries(kvdyno-${name} PRIVATE ${name}_adapter kvdyno_driver kvdyno_flags)
  add_dependencies(engines kvdyno-${name})
  if(KVDYNO_ENGINE_PREFIX)
    set_target_properties(kvdyno-${name} PROPERTIES
      BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/../lib")
  endif()

  if(KVDYNO_TESTS)
    kvdyno_test_engine(${name})
  endif()
endfunction()

# The tests of one engine; reads the ENGINE_ variables of kvdyno_add_engine.
function(kvdyno_test_engine name)
  if(ENGINE_WITHOUT_CONFORMANCE)
    message(STATUS "Engine ${name}: no conformance test, ${ENGINE_WITHOUT_CONFORMANCE}")
  else()
    kvdyno_add_conformance(${name} ${ENGINE_KEYLESS_ROWS} ${ENGINE_EXCUSED_FROM})
  endif()

  file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cc)
  if(tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE ${name}_adapter kvdyno_flags GTest::gtest_main)
    gtest_discover_tests(${name}_test TEST_PREFIX ${name}. PROPERTIES ${KVDYNO_ENGINE_ENVIRONMENT})
  endif()
endfunction()

# Prints that the engine of this folder is not built, and which packages it lacks.
function(kvdyno_skip_engine name)
  file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/packages.txt packages REGEX "^[^#]")
  list(JOIN packages " " packages)
  message(STATUS "Engine ${name}: skipped, its library is not installed: apt install ${packages}")
endfunction()

# Makes the imported target <target> of an installed library and one of its headers, if both exist.
# Asks the file system rather than the library's CMake package: Debian's RocksDB package needs the
# development files of every compression library, which linking to the shared library does not.
#
# KVDYNO_ENGINE_PREFIX comes first where it holds the library: a folder that `kvdyno engines build`
# filled. Drivers belong into its bin/, and load the library from its lib/. What links the target sees
# KVDYNO_LIBRARY_ORIGIN and KVDYNO_LIBRARY_FLAGS, texts for LibraryFacts.
function(kvdyno_find_library target library)
  if(TARGET ${target})
    return()
  endif()
  set(origin built)
  set(file ${KVDYNO_ENGINE_PREFIX}/lib/lib${library}.so)
  set(headers ${KVDYNO_ENGINE_PREFIX}/include)
  if(NOT KVDYNO_ENGINE_PREFIX OR NOT EXISTS ${file})
    find_library(KVDYNO_${library}_LIBRARY ${library})
    find_path(KVDYNO_${library}_INCLUDE_DIR NAMES ${ARGN})
    mark_as_advanced(KVDYNO_${library}_LIBRARY KVDYNO_${library}_INCLUDE_DIR)
    set(file ${KVDYNO_${library}_LIBRARY})
    set(headers ${KVDYNO_${library}_INCLUDE_DIR})
    set(origin system)
    set(KVDYNO_LIBRARY_FLAGS "")
  endif()
  if(file AND headers)
    add_library(${target} UNKNOWN IMPORTED)
    set_target_properties(${target} PROPERTIES
      IMPORTED_GLOBAL TRUE
      IMPORTED_LOCATION ${file}
      INTERFACE_INCLUDE_DIRECTORIES ${headers}
      INTERFACE_COMPILE_DEFINITIONS
        "KVDYNO_LIBRARY_ORIGIN=\"${origin}\";KVDYNO_LIBRARY_FLAGS=\"${KVDYNO_LIBRARY_FLAGS}\"")
  endif()
endfunction()
