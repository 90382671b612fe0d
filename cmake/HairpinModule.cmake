# hairpin_module(NAME [DEPS module...] [LIBS target...])
#
# One folder, one target: hairpin/NAME/*.cc becomes the library hairpin_NAME, and its *_test.cc
# become the one test binary NAME_test, registered with ctest. DEPS are Hairpin's own modules.
function(hairpin_module name)
  cmake_parse_arguments(ARG "" "" "DEPS;LIBS" ${ARGN})
  set(folder ${CMAKE_SOURCE_DIR}/hairpin/${name})
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cc)
  file(GLOB tests CONFIGURE_DEPENDS ${folder}/*_test.cc)
  if(tests)
    list(REMOVE_ITEM sources ${tests})
  endif()
  if(sources)
    set(scope PUBLIC)
    add_library(hairpin_${name} STATIC ${sources})
    hairpin_kernel_options(${folder})
  else()
    set(scope INTERFACE)
    add_library(hairpin_${name} INTERFACE)
  endif()
  target_include_directories(hairpin_${name} ${scope} ${CMAKE_SOURCE_DIR})
  list(TRANSFORM ARG_DEPS PREPEND hairpin_)
  target_link_libraries(hairpin_${name} ${scope} ${ARG_DEPS} ${ARG_LIBS} Threads::Threads)
  if(tests AND NOT HAIRPIN_FUZZ)
    hairpin_test(${name}_test ${tests} LIBS hairpin_${name})
  endif()
endfunction()

# hairpin_test(NAME source... LIBS target...): a GoogleTest binary, one ctest entry.
# Tests find the repository at HAIRPIN_SOURCE_DIR and the binary at HAIRPIN_BINARY_DIR.
function(hairpin_test name)
  cmake_parse_arguments(ARG "" "" "LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} GTest::gtest_main GTest::gmock
                                        rapidcheck_gtest)
  target_compile_definitions(${name} PRIVATE HAIRPIN_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                                             HAIRPIN_BINARY_DIR="${CMAKE_BINARY_DIR}")
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 600)
endfunction()

# Files named *_kernels.cc hold plain loops meant to be vectorised. Contraction is off, so that an
# element gets the same bits in a vectorised body, in its tail and in every target clone.
function(hairpin_kernel_options folder)
  file(GLOB kernels CONFIGURE_DEPENDS ${folder}/*_kernels.cc)
  set_source_files_properties(${kernels} PROPERTIES COMPILE_OPTIONS "-O3;-ffp-contract=off")
endfunction()
