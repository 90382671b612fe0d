# Everything but LibTorch: Debian packages, found by config file, pkg-config or header.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(OpenSSL 3 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)

# Header-only packages without a config file in both Debians.
function(hairpin_header_library target header)
  find_path(HAIRPIN_${target}_INCLUDE ${header} REQUIRED)
  add_library(hairpin_header_${target} INTERFACE)
  target_include_directories(hairpin_header_${target} SYSTEM INTERFACE ${HAIRPIN_${target}_INCLUDE})
  add_library(${target}::${target} ALIAS hairpin_header_${target})
endfunction()
hairpin_header_library(tomlplusplus toml++/toml.h)
hairpin_header_library(asio asio.hpp)
# Asio 1.22 pairs operator new with free() for over-aligned memory and, under g++ 12, for coroutine
# frames; the address sanitizer is right to object. It does not know either that clang has coroutines.
target_compile_definitions(
  hairpin_header_asio INTERFACE ASIO_NO_DEPRECATED ASIO_STANDALONE ASIO_DISABLE_STD_ALIGNED_ALLOC
                                ASIO_DISABLE_AWAITABLE_FRAME_RECYCLING ASIO_HAS_CO_AWAIT
                                ASIO_HAS_STD_COROUTINE)
hairpin_header_library(CLI11 CLI/CLI.hpp)

find_package(GTest REQUIRED)
find_library(HAIRPIN_RAPIDCHECK rapidcheck REQUIRED)
add_library(rapidcheck_gtest INTERFACE)
target_link_libraries(rapidcheck_gtest INTERFACE ${HAIRPIN_RAPIDCHECK})
