// The share of a row that one thread works on, and how its chosen entries find their places.
#pragma once
#include "histogram.cuh"
#include "rows.cuh"

// The same value, of which the compiler knows nothing: what is added to it is added where it is used, and not kept.
template <class T>
__device__ __forceinline__ T opaque(T value) {
    if constexpr (sizeof(T) == 8) asm volatile("" : "+l"(value));
    else asm volatile("" : "+r"(value));
    return value;
}

// This thread's part of a row. V > 0: V vectors, whose keys stay in registers. V = 0: as many as there are, in groups
// of eight vectors (1,024 positions of a warp), read again at every pass. A position that holds no entry has key 0,
// the lowest there is; only where entries with key 0 are looked for does it have to be told apart.
template <class Row, Order O, int NT, int V>
struct Part {
    static constexpr bool KEPT = V > 0;
    static constexpr int VECTORS = KEPT ? V : 8, KEYS = 4 * VECTORS, GROUP_POSITIONS = 128 * VECTORS;
    Row row;
    int from, to;  // live positions of this warp
    int at;        // this thread's first position; its vectors are 128 apart
    int groups;
    uint32_t keys[KEPT ? KEYS : 1];

    __device__ __forceinline__ uint32_t index(int position) const { return position - row.head; }

    // Bit patterns of a group from position `start`.
    __device__ __forceinline__ void read_group(int start, uint32_t* read) const {
        Vector q[VECTORS];
#pragma unroll
        for (int v = 0; v < VECTORS; ++v) q[v] = four_within(row, start + v * 128, from, to);
#pragma unroll
        for (int i = 0; i < KEYS; ++i) read[i] = q[i / 4].bits[i % 4];
    }
    // Which of a thread's positions from `start` up hold entries, as bits.
    __device__ __forceinline__ uint32_t live(int start) const {
        uint32_t bits = 0;
#pragma unroll
        for (int v = 0; v < VECTORS; ++v) bits |= within(start + v * 128, from, to) << (4 * v);
        return bits;
    }
    // Bit patterns of a group to keys.
    __device__ __forceinline__ void to_keys(int start, uint32_t* read) const {
#pragma unroll
        for (int i = 0; i < KEYS; ++i) read[i] = key_of<O>(read[i]);
        const int first = start - static_cast<int>(threadIdx.x % 32) * 4;
        if (__builtin_expect(first >= from && first + GROUP_POSITIONS <= to, 1)) return;
        const uint32_t bits = live(start);
#pragma unroll
        for (int i = 0; i < KEYS; ++i)
            if (!(bits >> i & 1)) read[i] = 0;
    }

    // f(keys, start, group) for each group: its KEYS keys, the first at position `start`.
    template <class F>
    __device__ __forceinline__ void each_group(F f) const {
        if constexpr (KEPT) {
            f(keys, at, 0);
        } else {
#pragma unroll 1
            for (int g = 0; g < groups; ++g) {
                uint32_t read[KEYS];
                const int start = at + g * GROUP_POSITIONS;
                read_group(start, read);
                to_keys(start, read);
                f(read, start, g);
            }
        }
    }

    // The bits of entries whose keys are `least` or larger.
    __device__ __forceinline__ uint32_t marked_from(const uint32_t* keys, uint32_t least, int start) const {
        uint32_t bits = 0;
#pragma unroll
        for (int i = 0; i < KEYS; ++i)
            if (keys[i] >= least) bits |= 1u << i;
        if (__builtin_expect(least == 0, 0)) bits &= live(start);
        return bits;
    }
    __device__ __forceinline__ uint32_t marked_above(const uint32_t* keys, uint32_t most) const {
        uint32_t bits = 0;
#pragma unroll
        for (int i = 0; i < KEYS; ++i)
            if (keys[i] > most) bits |= 1u << i;
        return bits;
    }
    __device__ __forceinline__ uint64_t entry_at(const uint32_t* keys, int start, int bit) const {
        uint32_t key = keys[0];
#pragma unroll
        for (int i = 1; i < KEYS; ++i)
            if (i == bit) key = keys[i];
        return entry_of(key, opaque(index(start)) + (bit >> 2) * 128 + (bit & 3));
    }
};

// The places of a warp's chosen entries, up to 32 a lane, among one another: bit 4v+j is position at + 128v + j.
template <int V>
struct Places {
    // A byte for each vector: how many of its four are chosen; four vectors are summed over the lanes at once.
    static constexpr int WORDS = V > 4 ? 2 : 1;
    uint32_t before[WORDS], all[WORDS];

    __device__ __forceinline__ static uint32_t byte(const uint32_t* words, int v) {
        return V > 4 ? words[v & (WORDS - 1)] >> (8 * (v >> 1)) & 255u : words[0] >> (8 * v) & 255u;
    }
    __device__ __forceinline__ explicit Places(uint32_t chosen) {
        uint32_t fours = chosen - ((chosen >> 1) & 0x55555555u);
        fours = (fours & 0x33333333u) + ((fours >> 2) & 0x33333333u);
        if constexpr (V > 4) {
            before[0] = fours & 0x0f0f0f0fu, before[1] = (fours >> 4) & 0x0f0f0f0fu;  // even vectors, odd vectors
        } else {
            if constexpr (V > 2) fours = (fours | fours << 8) & 0x00ff00ffu;
            if constexpr (V > 1) fours = (fours | fours << 4) & 0x0f0f0f0fu;
            before[0] = fours;
        }
#pragma unroll
        for (int w = 0; w < WORDS; ++w) {
            const uint32_t sum = inclusive_sum(before[w]);
            all[w] = __shfl_sync(ALL, sum, 31), before[w] = sum - before[w];
        }
    }
    __device__ __forceinline__ uint32_t total() const {
        uint32_t sum = 0;
#pragma unroll
        for (int v = 0; v < V; ++v) sum += byte(all, v);
        return sum;
    }
    // f(place, bit) for each bit, with the number of chosen entries before it; first vectors first.
    template <class F>
    __device__ __forceinline__ void each(uint32_t chosen, F f) const {
        uint32_t earlier = 0;
#pragma unroll
        for (int v = 0; v < V; ++v) {
            uint32_t place = earlier + byte(before, v);
            earlier += byte(all, v);
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                f(place, 4 * v + j);
                if (chosen & 1u << (4 * v + j)) ++place;
            }
        }
    }
    // Those of `chosen` with fewer than `count` before them.
    __device__ __forceinline__ uint32_t first(uint32_t chosen, uint32_t count) const {
        uint32_t kept = 0;
        each(chosen, [&](uint32_t place, int bit) { kept |= place < count ? chosen & 1u << bit : 0u; });
        return kept;
    }
    // out[place] = column(index) for each chosen entry; `first` is the index of bit 0.
    template <class Column>
    __device__ __forceinline__ void write(int* out, uint32_t chosen, uint32_t first, Column column) const {
        int* to = opaque(out);
        each(chosen, [&](uint32_t place, int bit) {
            // Stored under a predicate: a branch for each bit takes longer.
            asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.global.u32 [%1], %2; }" ::"r"(chosen & 1u << bit),
                         "l"(to + place), "r"(column(first + bit / 4 * 128 + bit % 4))
                         : "memory");
        });
    }
};
