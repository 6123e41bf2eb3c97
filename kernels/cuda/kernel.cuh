// How kernels are named and made, for each type of score, order and shape. A shape is a number of blocks that share a
// row, threads of a block, and vectors of four scores that a thread keeps (0: none, the row is read at every pass).
#pragma once
#include "select.cuh"

// What a launch must give at least.
#define SHARED(CS) extern "C" __device__ const unsigned int shared_bytes_c##CS = sizeof(Shared<CS>);
SHARED(1) SHARED(2) SHARED(4) SHARED(8) SHARED(16)

#define KERNEL(NAME, TYPE, TYPE_NAME, ORDER, CS, NT, V)                                                        \
    extern "C" __global__ void __launch_bounds__(NT, 1024 / NT)                                                \
        NAME##_##TYPE_NAME##_##ORDER##_c##CS##_t##NT##_v##V(const __grid_constant__ NAME##_arguments a) {      \
        NAME<TYPE, Order::ORDER, CS, NT, V>(a);                                                                \
    }
#define KERNELS_OF(NAME, CS, NT, V)                          \
    KERNEL(NAME, float, float32, ieee, CS, NT, V)            \
    KERNEL(NAME, float, float32, served, CS, NT, V)          \
    KERNEL(NAME, bfloat16, bfloat16, ieee, CS, NT, V)        \
    KERNEL(NAME, bfloat16, bfloat16, served, CS, NT, V)
