# Installs the sampling index, and builds and runs the README's example against it as an outside project would: with
# the README's own CMakeLists.txt. Variables: BUILD_DIR, WORK_DIR, README, SANITIZE, GENERATOR.

include(${CMAKE_CURRENT_LIST_DIR}/../../package_test.cmake)

file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR}/source)
extract(cpp ${WORK_DIR}/source/example.cc)
extract(cmake ${WORK_DIR}/source/CMakeLists.txt)
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --component sampling --prefix ${WORK_DIR}/prefix)
if(SANITIZE)
  set(flags -DCMAKE_CXX_FLAGS=-fsanitize=${SANITIZE})
endif()
run(${CMAKE_COMMAND} -S ${WORK_DIR}/source -B ${WORK_DIR}/build -G ${GENERATOR}
  -DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix ${flags})
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build)
run(${WORK_DIR}/build/example)
expect("1000 of 1000 samples have key 7\n")
