// Order-preserving keys: unsigned integers that compare as the scores do.
#pragma once
#include <cstdint>

enum class Order { ieee, served };

// The key of a float32 score, from its bits. IEEE: the total order of IEEE 754, so equal bits tie and nothing else.
// SERVED: as IEEE, but positive subnormals tie with +0, and +NaN ties with -0. Both exceptions are coded here, on
// integers, so that no compiler flag decides them (tests look for float instructions in the machine code).
template <Order O>
__device__ __forceinline__ uint32_t key_of(uint32_t bits) {
    const uint32_t key = bits ^ (static_cast<uint32_t>(static_cast<int32_t>(bits) >> 31) | 0x80000000u);
    if constexpr (O == Order::served) {
        if (bits - 1u < 0x007fffffu) return 0x80000000u;                   // +0 < score < the smallest normal
        if (bits - 0x7f800001u < 0x007fffffu) return 0x7fffffffu;          // +NaN
    }
    return key;
}

constexpr uint32_t KEY_OF_NEGATIVE_INFINITY = 0x007fffffu;

// An entry is a key with its index: of entries with one key, that of lower index is the larger.
__device__ __forceinline__ uint64_t entry_of(uint32_t key, uint32_t index) { return static_cast<uint64_t>(key) << 32 | ~index; }
__device__ __forceinline__ uint32_t key_in(uint64_t entry) { return static_cast<uint32_t>(entry >> 32); }
__device__ __forceinline__ uint32_t index_in(uint64_t entry) { return ~static_cast<uint32_t>(entry); }
