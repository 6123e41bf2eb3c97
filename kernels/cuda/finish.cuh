// The last steps of a selection: the threshold among the few entries that one histogram bin holds.
#pragma once
#include "histogram.cuh"

// A range of entries, all those that begin with the same bits: [low, low + 2^free_bits).
struct Range {
    uint64_t low;
    int free_bits;

    __device__ __forceinline__ bool has(uint64_t entry) const { return (entry ^ low) >> free_bits == 0; }
    __device__ __forceinline__ uint32_t low_key() const { return low >> 32; }
    // How much larger than low_key() a key in the range may be.
    __device__ __forceinline__ uint32_t key_span() const { return free_bits > 32 ? (1u << (free_bits - 32)) - 1 : 0; }
    // Whether the key alone decides that an entry is in the range.
    __device__ __forceinline__ bool by_key() const { return free_bits >= 32; }
    // Where the next digit of at most `bits` bits begins: no digit holds bits of both the key and the index.
    __device__ __forceinline__ int next_shift(int bits) const {
        return free_bits > 32 ? max(free_bits - bits, 32) : max(free_bits - bits, 0);
    }
    // Where all keys are equal, what ~index holds above its INDEX_BITS is known.
    __device__ __forceinline__ void enter_index() {
        if (free_bits == 32) low |= INDEX_ONES, free_bits = INDEX_BITS;
    }
};

// The `need`-th largest of `size` entries, all those in `range`. Of this thread's share of them, those in a range are
// visited: entries.keys(range, f) calls f(key), where keys alone decide; entries.each(range, f) calls f(entry).
// A barrier stands between the last use of `ranked` and this.
template <int NT, class S, class Entries>
__device__ __forceinline__ uint64_t nth_largest(S& s, uint32_t size, uint32_t need, Range range, const Entries& entries) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    uint32_t left = size;
#pragma unroll 1
    for (int pass = 0; left > RANKED && left != need; ++pass) {
        range.enter_index();
        const int shift = range.next_shift(8);
        const uint32_t mask = (1u << (range.free_bits - shift)) - 1;
        uint32_t* digits = s.digits + pass * DIGIT;
        if (shift >= 32)
            entries.keys(range, [&](uint32_t key) { atomicAdd(&digits[key >> (shift - 32) & mask], 1u); });
        else
            entries.each(range, [&](uint64_t entry) { atomicAdd(&digits[static_cast<uint32_t>(entry) >> shift & mask], 1u); });
        __syncthreads();
        if (warp == 0) {
            const Crossing c = find_crossing<1, DIGIT / 32>(digits, 0, need, lane);
            if (lane == 0) s.crossing[0] = c.entry, s.crossing[1] = c.above, s.crossing[2] = c.inside;
        }
        __syncthreads();
        range.low |= static_cast<uint64_t>(s.crossing[0]) << shift, range.free_bits = shift;
        need -= s.crossing[1], left = s.crossing[2];
    }
    if (left == need) return range.low;
    const uint64_t* few = entries.together();  // they lie together already, or are gathered now
    if (!few || left != size) {
        entries.each(range, [&](uint64_t entry) { s.ranked[atomicAdd(&s.ranked_size, 1u)] = entry; });
        few = s.ranked;
        __syncthreads();
    }
    // Each warp ranks an entry, or a few: how many are larger.
    for (uint32_t e = warp; e < left; e += NT / 32) {
        const uint64_t entry = few[e];
        uint32_t larger = 0;
        for (uint32_t i = lane; i < (left + 31) / 32 * 32; i += 32)
            larger += __popc(__ballot_sync(ALL, i < left && few[i] > entry));
        if (larger == need - 1 && lane == 0) s.threshold = entry;
    }
    __syncthreads();
    return s.threshold;
}

// The listed entries, shared out among the threads of a block.
template <int NT>
struct ListedEntries {
    const uint64_t* listed;
    uint32_t size;

    __device__ __forceinline__ const uint64_t* together() const { return listed; }
    template <class F>
    __device__ __forceinline__ void each(const Range& range, F f) const {
        for (uint32_t i = threadIdx.x; i < size; i += NT)
            if (range.has(listed[i])) f(listed[i]);
    }
    template <class F>
    __device__ __forceinline__ void keys(const Range& range, F f) const {
        const uint32_t low = range.low_key(), span = range.key_span();
        for (uint32_t i = threadIdx.x; i < size; i += NT) {
            const uint32_t key = listed[i] >> 32;
            if (key - low <= span) f(key);
        }
    }
};

// The entries that a thread keeps.
template <class P>
struct KeptEntries {
    const P& part;

    __device__ __forceinline__ const uint64_t* together() const { return nullptr; }
    template <class F>
    __device__ __forceinline__ void each(const Range& range, F f) const {
        for (uint32_t rest = part.marked(part.keys, range.low_key(), range.key_span()) & part.valid; rest; rest &= rest - 1) {
            const uint64_t entry = part.entry_at(part.keys, part.index(part.at), __ffs(rest) - 1);
            if (range.has(entry)) f(entry);
        }
    }
    template <class F>
    __device__ __forceinline__ void keys(const Range& range, F f) const {
        const uint32_t low = range.low_key(), span = range.key_span();
#pragma unroll
        for (int i = 0; i < 4 * P::VECTORS; ++i)
            if ((part.valid >> i & 1) && part.keys[i] - low <= span) f(part.keys[i]);
    }
};
