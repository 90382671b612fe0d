# Target hairpin::torch: LibTorch from the torch wheel of build/venv, or from HAIRPIN_TORCH=DIR.
#
# The wheel's own package file wants a CUDA toolkit when the wheel was built with CUDA; Hairpin needs
# only its libraries, so they are linked by name. The wheel carries its own fmt/ and others: its two
# include directories come last (-idirafter), so that Debian's packages win.
if(HAIRPIN_TORCH)
  set(root ${HAIRPIN_TORCH})
else()
  find_package(Python3 COMPONENTS Interpreter REQUIRED)
  execute_process(
    COMMAND ${Python3_EXECUTABLE} -c
            "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
    OUTPUT_VARIABLE root OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()

find_library(HAIRPIN_TORCH_LIBRARY torch PATHS ${root}/lib NO_DEFAULT_PATH)
find_library(HAIRPIN_TORCH_CPU_LIBRARY torch_cpu PATHS ${root}/lib NO_DEFAULT_PATH)
find_library(HAIRPIN_C10_LIBRARY c10 PATHS ${root}/lib NO_DEFAULT_PATH)
# The OpenMP runtime that LibTorch uses; a second one in the process would be a defect.
find_file(HAIRPIN_GOMP_LIBRARY libgomp.so.1 PATHS ${root}/lib NO_DEFAULT_PATH)
if(NOT HAIRPIN_GOMP_LIBRARY)
  set(HAIRPIN_GOMP_LIBRARY gomp)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  HairpinTorch
  REQUIRED_VARS HAIRPIN_TORCH_LIBRARY HAIRPIN_TORCH_CPU_LIBRARY HAIRPIN_C10_LIBRARY
  REASON_FAILURE_MESSAGE "no LibTorch in '${root}': run make build, which installs the torch wheel, or give -DHAIRPIN_TORCH=DIR")

add_library(hairpin_torch INTERFACE)
add_library(hairpin::torch ALIAS hairpin_torch)
target_compile_options(
  hairpin_torch INTERFACE "SHELL:-idirafter ${root}/include"
                          "SHELL:-idirafter ${root}/include/torch/csrc/api/include")
# A CUDA-built wheel's libtorch.so names libraries of other wheels; they are found at run time.
target_link_libraries(hairpin_torch INTERFACE ${HAIRPIN_TORCH_LIBRARY} ${HAIRPIN_TORCH_CPU_LIBRARY}
                                              ${HAIRPIN_C10_LIBRARY} ${HAIRPIN_GOMP_LIBRARY})
target_link_options(hairpin_torch INTERFACE -Wl,--allow-shlib-undefined -Wl,-rpath,${root}/lib)
