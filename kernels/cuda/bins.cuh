// Ranges of keys, and how a histogram divides them into bins.
#pragma once
#include <cstdint>

constexpr int BIN_BITS = 12, BINS = 1 << BIN_BITS;

// The keys from `least` to `most`.
struct Range {
    uint32_t least, most;

    __device__ __forceinline__ bool has(uint32_t key) const { return key - least <= most - least; }
    // How far keys are shifted right so that the last `bits` of what is left tell equal parts of the range apart.
    __device__ __forceinline__ int shift(int bits) const { return max(32 - __clz(least ^ most) - bits, 0); }
    // The part whose keys, shifted, end with `part`.
    __device__ __forceinline__ Range part(uint32_t part, int bits, int shift) const {
        const uint32_t from = (least >> shift >> bits << bits | part) << shift;
        return {from, from + ((1u << shift) - 1)};
    }
};

// The first histogram is of all keys. Its bins are narrow where scores are: 64 to each power of two from 2^-15 up to
// almost 2^17 on either side of zero. What lies beyond counts in the outermost bin of its side, what lies nearer to zero
// in the innermost. A step of 2^17 in a key is a 64th of a power of two, so a bin is a range of keys, and higher bins
// hold higher keys.
constexpr int STEP_BITS = 17, SIDE = BINS / 2;
constexpr uint32_t STEP = 1u << STEP_BITS;
constexpr uint32_t NEAREST = (112u << 23) - STEP;  // the bits of 2^-15, a step less: the innermost bin is the step before

// A key's bin counted from the middle, where the positive side begins, times STEP.
__device__ __forceinline__ int scaled_bin(uint32_t key) {
    const int side = ~(static_cast<int>(key) >> 31);  // all ones where the score is negative
    const int magnitude = static_cast<int>((key ^ side) & 0x7fffffffu);
    const int steps = __viaddmin_s32_relu(magnitude, -static_cast<int>(NEAREST), (SIDE << STEP_BITS) - 1);
    return (steps ^ side) & ~static_cast<int>(STEP - 1);
}
// The least key in a bin.
__host__ __device__ constexpr uint32_t least_in_bin(uint32_t bin) {
    const uint32_t beyond = bin < SIDE ? 0u - NEAREST : bin > SIDE ? NEAREST : 0;
    return bin == 0 ? 0 : 0x80000000u + (bin - SIDE) * STEP + beyond;
}
__device__ __forceinline__ Range range_of_bin(uint32_t bin) {
    return {least_in_bin(bin), bin == BINS - 1 ? 0xffffffffu : least_in_bin(bin + 1) - 1};
}
// No part of a bin's range reaches beyond it, where keys would be that nobody counted: the widest ranges have 30 bits,
// and begin and end at multiples of 2^18.
constexpr uint32_t WIDEST_PART = 1u << (30 - BIN_BITS);
static_assert(least_in_bin(1) % WIDEST_PART == 0 && least_in_bin(BINS - 1) % WIDEST_PART == 0);
static_assert(least_in_bin(SIDE - 1) % WIDEST_PART == 0 && least_in_bin(SIDE + 1) % WIDEST_PART == 0);
