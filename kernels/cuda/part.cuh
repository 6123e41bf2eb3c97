// The share of a row that one thread works on, and how its chosen entries find their places.
#pragma once
#include "histogram.cuh"
#include "rows.cuh"

// The same value, of which the compiler knows nothing: what is added to it is added where it is used, and not kept.
__device__ __forceinline__ uint32_t opaque(uint32_t value) {
    asm volatile("" : "+r"(value));
    return value;
}

// This thread's part of a row. V > 0: V vectors, whose keys stay in registers. V = 0: as many as there are, in groups
// of eight vectors (1,024 positions of a warp), read again at every pass.
template <class Row, Order O, int NT, int V>
struct Part {
    static constexpr bool KEPT = V > 0;
    static constexpr int VECTORS = KEPT ? V : 8;
    Row row;
    int from, to;  // live positions of this warp
    int at;        // this thread's first position; its vectors are 128 apart
    int groups;
    uint32_t keys[KEPT ? 4 * V : 1], valid;

    __device__ __forceinline__ uint32_t index(int position) const { return position - row.head; }

    // Bit patterns of a group from position `start`, and which of them are entries.
    __device__ __forceinline__ uint32_t read_group(int start, int limit, uint32_t* read) const {
        Vector q[VECTORS];
#pragma unroll
        for (int v = 0; v < VECTORS; ++v) q[v] = four_within(row, start + v * 128, from, limit);
        uint32_t live = 0;
#pragma unroll
        for (int v = 0; v < VECTORS; ++v) {
            live |= within(start + v * 128, from, limit) << (4 * v);
#pragma unroll
            for (int j = 0; j < 4; ++j) read[4 * v + j] = q[v].bits[j];
        }
        return live;
    }
    // Once the loads are back and `to` is known.
    __device__ __forceinline__ void settle() {
        valid = 0;
#pragma unroll
        for (int v = 0; v < VECTORS; ++v) valid |= within(at + v * 128, from, to) << (4 * v);
#pragma unroll
        for (int i = 0; i < 4 * VECTORS; ++i) keys[i] = key_of<O>(keys[i]);
    }

    __device__ __forceinline__ static uint64_t entry_at(const uint32_t* keys, uint32_t first, int bit) {
        uint32_t key = keys[0];
#pragma unroll
        for (int i = 1; i < 4 * VECTORS; ++i)
            if (i == bit) key = keys[i];
        return entry_of(key, opaque(first) + (bit >> 2) * 128 + (bit & 3));
    }
    // The bits of entries whose keys are in [low, low + span].
    __device__ __forceinline__ static uint32_t marked(const uint32_t* keys, uint32_t low, uint32_t span) {
        uint32_t bits = 0;
#pragma unroll
        for (int i = 0; i < 4 * VECTORS; ++i)
            if (keys[i] - low <= span) bits |= 1u << i;
        return bits;
    }

    // The bits of entries from `threshold` up; bit 0 is at `position`. One with the threshold's key counts up to its index.
    __device__ __forceinline__ uint32_t from_threshold(const uint32_t* keys, int position, uint64_t threshold) const {
        const uint32_t key = threshold >> 32;
        const int last = static_cast<int>(min(~static_cast<uint32_t>(threshold), 1u << 30));
        uint32_t bits = 0;
#pragma unroll
        for (int v = 0; v < VECTORS; ++v) {
            const int first = index(position + v * 128);
            const uint32_t least = key + (first > last);
            uint32_t four = 0;
#pragma unroll
            for (int j = 0; j < 4; ++j)
                if (keys[4 * v + j] >= least) four |= 1u << j;
            if (least < key) four = 0;  // the threshold's key is the largest there is
            if (first <= last && last - first < 3)
#pragma unroll
                for (int j = 1; j < 4; ++j)
                    if (j > last - first && keys[4 * v + j] == key) four &= ~(1u << j);
            bits |= four << (4 * v);
        }
        return bits;
    }

    // f(keys, live, group) for each group: 4 * VECTORS keys, and which of them are entries, as bits.
    template <class F>
    __device__ __forceinline__ void each_group(F f) const {
        if constexpr (KEPT) {
            f(keys, valid, 0);
        } else {
#pragma unroll 1
            for (int g = 0; g < groups; ++g) {
                uint32_t read[4 * VECTORS];
                const uint32_t live = read_group(at + g * 1024, to, read);
#pragma unroll
                for (int i = 0; i < 4 * VECTORS; ++i) read[i] = key_of<O>(read[i]);
                f(read, live, g);
            }
        }
    }
    // f(key, index) for each entry.
    template <class F>
    __device__ __forceinline__ void each(F f) const {
        each_group([&](const uint32_t* keys, uint32_t live, int g) {
            const uint32_t first = opaque(index(at + g * 1024));
#pragma unroll
            for (int i = 0; i < 4 * VECTORS; ++i)
                if (live >> i & 1) f(keys[i], first + (i >> 2) * 128 + (i & 3));
        });
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
    __device__ __forceinline__ Places(uint32_t chosen, int lane) {
        uint32_t fours = chosen - ((chosen >> 1) & 0x55555555u);
        fours = (fours & 0x33333333u) + ((fours >> 2) & 0x33333333u);
        if constexpr (V > 4) {
            before[0] = fours & 0x0f0f0f0fu, before[1] = (fours >> 4) & 0x0f0f0f0fu;  // even vectors, odd vectors
        } else {
            before[0] = (fours & 15u) | (fours & 0xf0u) << 4 | (fours & 0xf00u) << 8 | (fours & 0xf000u) << 12;
        }
#pragma unroll
        for (int w = 0; w < WORDS; ++w) {
            const uint32_t sum = inclusive_sum(before[w], lane);
            all[w] = __shfl_sync(ALL, sum, 31), before[w] = sum - before[w];
        }
    }
    __device__ __forceinline__ uint32_t total() const {
        uint32_t sum = 0;
#pragma unroll
        for (int v = 0; v < V; ++v) sum += byte(all, v);
        return sum;
    }
    // out[place] = column(index) for each chosen entry; `first` is the index of bit 0.
    template <class Column>
    __device__ __forceinline__ void write(int* out, uint32_t chosen, uint32_t first, Column column) const {
        uint32_t earlier = 0;
#pragma unroll
        for (int v = 0; v < V; ++v) {
            uint32_t place = earlier + byte(before, v);
            earlier += byte(all, v);
#pragma unroll
            for (int j = 0; j < 4; ++j)
                if (chosen >> (4 * v + j) & 1) out[place++] = column(first + v * 128 + j);
        }
    }
};
