// For autograd Functions: plain pointers kept in a graph. What they point to (parameters, tables, a
// microbatch's layout) belongs to the rank or to the in-flight microbatch and outlives the graph.
#pragma once

#include <torch/csrc/autograd/custom_function.h>

namespace hairpin::nn {

template <class T>
void keep(torch::autograd::AutogradContext* context, const char* key, T* pointer) {
  context->saved_data[key] = reinterpret_cast<std::int64_t>(pointer);
}

template <class T>
T* kept(torch::autograd::AutogradContext* context, const char* key) {
  return reinterpret_cast<T*>(context->saved_data[key].toInt());
}

}  // namespace hairpin::nn
