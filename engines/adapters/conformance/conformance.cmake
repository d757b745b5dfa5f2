# The suite is compiled once and linked with each adapter.
file(GLOB conformance_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cc)
list(FILTER conformance_sources EXCLUDE REGEX "/traits\\.cc$")
add_library(kvdyno_conformance OBJECT ${conformance_sources})
target_link_libraries(kvdyno_conformance PUBLIC kvdyno_api GTest::gtest PRIVATE kvdyno_flags)
set(KVDYNO_CONFORMANCE_DIR ${CMAKE_CURRENT_LIST_DIR})

# Further arguments are the tests that the engine is excused from.
function(kvdyno_add_conformance name keyless_rows)
  add_executable(${name}_conformance ${KVDYNO_CONFORMANCE_DIR}/traits.cc)
  target_compile_definitions(${name}_conformance PRIVATE
    KVDYNO_KEYLESS_ROWS=$<BOOL:${keyless_rows}>)
  target_link_libraries(${name}_conformance PRIVATE ${name}_adapter kvdyno_conformance kvdyno_flags)
  list(JOIN ARGN ":" excused)
  gtest_discover_tests(${name}_conformance TEST_PREFIX ${name}. DISCOVERY_TIMEOUT 60
    TEST_FILTER "-${excused}"
    PROPERTIES LABELS conformance TIMEOUT 300 ${KVDYNO_ENGINE_ENVIRONMENT})
endfunction()
