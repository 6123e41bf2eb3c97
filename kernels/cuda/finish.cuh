// The last step of a selection: the threshold among the few entries that one bin holds.
#pragma once
#include "histogram.cuh"

// What is chosen: every entry with a larger key, and of those with this key the first `ties` in index order.
struct Threshold {
    uint32_t key;
    uint32_t ties;  // ALL: every one
};

// The threshold that the `need` best of `size` listed entries reach, all of which have keys in `range`: the key's next
// digits until few entries are left, and the rank of each of these by comparison with the others. a, b: the entries at
// this lane's number and 32 further on, or 0.
template <int NT, int LISTABLE, class S>
__device__ __forceinline__ Threshold find_threshold(S& s, uint32_t size, uint32_t need, Range range, uint64_t a,
                                                    uint64_t b) {
    constexpr int WARPS = NT / 32;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint64_t* few = s.listed;
    uint32_t left = size;
    if (LISTABLE > RANKED && left > RANKED) {
#pragma unroll 1
        for (int pass = 0; left > RANKED && left != need && range.least != range.most; ++pass) {
            const int shift = range.shift(DIGIT_BITS);
            uint32_t* digits = s.digits + pass * DIGIT;
            for (uint32_t i = threadIdx.x; i < size; i += NT) {
                const uint32_t key = key_in(s.listed[i]);
                if (range.has(key)) atomicAdd(&digits[key >> shift & (DIGIT - 1)], 1u);
            }
            __syncthreads();
            if (warp == 0) {
                const Crossing c = find_crossing<1, DIGIT / 32>(digits, 0, need, lane);
                if (lane == 0) s.crossing = make_uint4(c.entry, c.above, c.inside, 0);
            }
            __syncthreads();
            const uint4 c = s.crossing;
            range = range.part(c.x, DIGIT_BITS, shift);
            need -= c.y, left = c.z;
        }
        if (left == need) return {range.least, ALL};
        if (range.least == range.most) return {range.least, need};
        for (uint32_t i = threadIdx.x; i < size; i += NT)
            if (range.has(key_in(s.listed[i]))) s.ranked[atomicAdd(&s.ranked_size, 1u)] = s.listed[i];
        few = s.ranked;
        __syncthreads();
        a = lane < left ? few[lane] : 0, b = lane + 32 < left ? few[lane + 32] : 0;
    }
    // Each warp ranks an entry, or a few: how many are larger.
    for (uint32_t e = warp; e < left; e += WARPS) {
        const uint64_t entry = few[e];
        const uint32_t larger = __popc(__ballot_sync(ALL, a > entry)) + __popc(__ballot_sync(ALL, b > entry));
        if (larger != need - 1) continue;
        const uint32_t key = key_in(entry);
        uint32_t ties = ALL;
        if (__popc(__ballot_sync(ALL, lane < left && key_in(a) == key)) +
                __popc(__ballot_sync(ALL, lane + 32 < left && key_in(b) == key)) > 1)
            ties = need - __popc(__ballot_sync(ALL, key_in(a) > key)) - __popc(__ballot_sync(ALL, key_in(b) > key));
        if (lane == 0) s.threshold = make_uint2(key, ties);
    }
    __syncthreads();
    const uint2 t = s.threshold;
    return {t.x, t.y};
}
