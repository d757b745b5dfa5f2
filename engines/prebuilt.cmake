# The driver's libraries as another build of this checkout made them: KVDYNO_DRIVER_BUILD is its folder.

# kvdyno_import(<name> <folder> [<library>...]): the target kvdyno_<name>, with what it links.
function(kvdyno_import name folder)
  add_library(kvdyno_${name} STATIC IMPORTED GLOBAL)
  set_target_properties(kvdyno_${name} PROPERTIES
    IMPORTED_LOCATION ${KVDYNO_DRIVER_BUILD}/engines/${folder}/libkvdyno_${name}.a
    INTERFACE_LINK_LIBRARIES "${ARGN}")
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/include)
    set_target_properties(kvdyno_${name} PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/include)
  endif()
endfunction()

find_package(ZLIB REQUIRED)
kvdyno_import(base base Threads::Threads)
kvdyno_import(tuners tuners)
kvdyno_import(api api kvdyno_base ${CMAKE_DL_LIBS})
kvdyno_import(generate driver/generate kvdyno_api kvdyno_base)
kvdyno_import(driver_shared driver kvdyno_api kvdyno_generate ZLIB::ZLIB Threads::Threads)
kvdyno_import(driver driver kvdyno_driver_shared)
