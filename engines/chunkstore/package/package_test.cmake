# Installs the chunk store, and builds and runs the README's example against it as an outside project would: with the
# README's own CMakeLists.txt. Variables: BUILD_DIR, WORK_DIR, README, SANITIZE, GENERATOR, CC.

include(${CMAKE_CURRENT_LIST_DIR}/../../package_test.cmake)

file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR}/source ${WORK_DIR}/data)
extract(cpp ${WORK_DIR}/source/example.cc)
extract(cmake ${WORK_DIR}/source/CMakeLists.txt)
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --component chunkstore --prefix ${WORK_DIR}/prefix)
if(SANITIZE)
  set(flags -DCMAKE_CXX_FLAGS=-fsanitize=${SANITIZE})
endif()
run(${CMAKE_COMMAND} -S ${WORK_DIR}/source -B ${WORK_DIR}/build -G ${GENERATOR}
  -DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix ${flags})
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build)
run(${WORK_DIR}/build/example ${WORK_DIR}/data)
expect("apple: red\n")

# The C example, with the compiler and pkg-config alone.
extract(c ${WORK_DIR}/source/example.c)
find_program(pkg_config NAMES pkg-config pkgconf REQUIRED)
file(GLOB_RECURSE package ${WORK_DIR}/prefix/chunkstore.pc)
cmake_path(GET package PARENT_PATH package_dir)
cmake_path(GET package_dir PARENT_PATH library_dir)
set(ENV{PKG_CONFIG_PATH} ${package_dir})
run(${pkg_config} --cflags --libs chunkstore)
separate_arguments(words UNIX_COMMAND "${output}")
if(SANITIZE)
  list(APPEND words -fsanitize=${SANITIZE})
endif()
run(${CC} ${WORK_DIR}/source/example.c -o ${WORK_DIR}/build/example_c ${words})
set(ENV{LD_LIBRARY_PATH} ${library_dir})
run(${WORK_DIR}/build/example_c ${WORK_DIR}/data)
expect("apple: red\n")
