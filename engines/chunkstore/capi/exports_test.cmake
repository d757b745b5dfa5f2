# The shared library exports what abi.txt lists, and nothing else. Variables: NM, LIBRARY, LIST.
cmake_minimum_required(VERSION 3.22)

execute_process(COMMAND ${NM} --dynamic --defined-only --format=posix ${LIBRARY}
  RESULT_VARIABLE result OUTPUT_VARIABLE output)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${NM} ${LIBRARY}: expected exit status 0, got ${result}")
endif()
string(REGEX MATCHALL "[^\n ]+ [TDBRVW] " found "${output}")
list(TRANSFORM found REPLACE " . $" "")
list(SORT found)
file(STRINGS ${LIST} listed)
list(SORT listed)
foreach(symbol ${listed})
  if(NOT symbol IN_LIST found)
    message(FATAL_ERROR "${LIBRARY}: expected ${symbol}, which ${LIST} lists, found no such symbol; "
      "programs linked against it would not start: keep it, or raise SOVERSION")
  endif()
endforeach()
foreach(symbol ${found})
  if(NOT symbol IN_LIST listed)
    message(FATAL_ERROR "${LIBRARY}: expected the symbols of ${LIST} alone, found ${symbol}; a new "
      "function of c.h gets a line there")
  endif()
endforeach()
