// Histograms over a row, counted by the blocks of a cluster together, and the bin in which the K-th entry lies.
#pragma once
#include "cluster.cuh"
#include "keys.cuh"

constexpr int BINS = 4096, GROUP = 64, LISTED = 2048, RANKED = 32, DIGIT = 256, PASSES = 6;
constexpr uint32_t ALL = ~0u;

// A block's shared memory.
template <int CS>
struct alignas(16) Shared {
    uint32_t bins[BINS];
    uint32_t groups[CS * GROUP];  // of each block: sums of 64 bins
    uint32_t group[CS * GROUP];   // of each block: the bins of the crossing group
    uint64_t listed[LISTED];
    uint64_t ranked[RANKED];
    uint32_t digits[PASSES * DIGIT];
    uint32_t warp_selected[32], warp_listed[32];
    uint32_t crossing[6];
    uint32_t list_size, ranked_size;
    Mailbox groups_box, group_box, list_box;
};

__device__ __forceinline__ uint32_t inclusive_sum(uint32_t value, int lane) {
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const uint32_t below = __shfl_up_sync(ALL, value, step);
        if (lane >= step) value += below;
    }
    return value;
}

// Where counts, summed from the highest entry down, reach `need`.
struct Crossing {
    uint32_t entry;
    uint32_t above;          // in higher entries, all blocks
    uint32_t inside;         // in the entry, all blocks
    uint32_t above_before;   // in higher entries, blocks of lower rank
    uint32_t inside_before;  // in the entry, blocks of lower rank
};

// One warp over [CS][64] counts; the answer is in every lane.
template <int CS>
__device__ __forceinline__ Crossing find_crossing(const uint32_t* counts, uint32_t need, uint32_t rank, int lane) {
    uint32_t high = 0, low = 0, high_before = 0, low_before = 0;
    const int at = GROUP - 2 - 2 * lane;  // this lane's two entries, the higher one second
#pragma unroll
    for (int r = 0; r < CS; ++r) {
        const uint2 two = *reinterpret_cast<const uint2*>(counts + r * GROUP + at);
        high += two.y, low += two.x;
        if (CS > 1 && r < static_cast<int>(rank)) high_before += two.y, low_before += two.x;
    }
    const uint32_t both = high + low, both_before = high_before + low_before;
    const uint32_t above = inclusive_sum(both, lane) - both;
    const uint32_t before = CS > 1 ? inclusive_sum(both_before, lane) - both_before : 0;
    const bool in_high = above + high >= need;
    Crossing c;
    c.entry = at + in_high;
    c.above = in_high ? above : above + high;
    c.inside = in_high ? high : low;
    c.above_before = in_high ? before : before + high_before;
    c.inside_before = in_high ? high_before : low_before;
    const int found = __ffs(__ballot_sync(ALL, above < need && above + both >= need)) - 1;
    c.entry = __shfl_sync(ALL, c.entry, found);
    c.above = __shfl_sync(ALL, c.above, found);
    c.inside = __shfl_sync(ALL, c.inside, found);
    if (CS > 1) {
        c.above_before = __shfl_sync(ALL, c.above_before, found);
        c.inside_before = __shfl_sync(ALL, c.inside_before, found);
    }
    return c;
}

// The crossing bin of all blocks' histograms together; `round` counts the uses of the mailboxes.
template <int CS, int NT>
__device__ __forceinline__ Crossing cross_histogram(Shared<CS>& s, uint32_t need, uint32_t rank, uint32_t round) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    uint32_t* own_groups = s.groups + rank * GROUP;
    __syncthreads();
#pragma unroll
    for (int g = warp; g < BINS / GROUP; g += NT / 32) {
        const uint2 two = *reinterpret_cast<const uint2*>(&s.bins[g * GROUP + 2 * lane]);
        const uint32_t sum = __reduce_add_sync(ALL, two.x + two.y);
        if (lane == 0) own_groups[g] = sum;
    }
    __syncthreads();
    // 256 bytes to each other block, half a warp for each.
    auto tell = [&](const uint32_t* from, uint32_t* to, Mailbox* box, int block) {
        const int at = lane & 15;
        const uint4 four = reinterpret_cast<const uint4*>(from)[at];
        if (block != static_cast<int>(rank)) push(reinterpret_cast<uint4*>(to + rank * GROUP) + at, four, box, block);
        else if (from != to + rank * GROUP) reinterpret_cast<uint4*>(to + rank * GROUP)[at] = four;
    };
    if constexpr (CS > 1)
        if (warp > 0 && warp <= CS / 2) tell(own_groups, s.groups, &s.groups_box, 2 * (warp - 1) + (lane >> 4));
    if (warp == 0) {
        if constexpr (CS > 1) {
            s.groups_box.wait(round & 1);
            if (lane == 0) s.groups_box.expect((CS - 1) * GROUP * 4);
        }
        const Crossing coarse = find_crossing<CS>(s.groups, need, rank, lane);
        const uint32_t* bins = &s.bins[coarse.entry * GROUP];
        if constexpr (CS > 1) {
#pragma unroll
            for (int r = 0; r < CS; r += 2) tell(bins, s.group, &s.group_box, r + (lane >> 4));
            __syncwarp();
            s.group_box.wait(round & 1);
            if (lane == 0) s.group_box.expect((CS - 1) * GROUP * 4);
            bins = s.group;
        }
        const Crossing fine = find_crossing<CS>(bins, need - coarse.above, rank, lane);
        if (lane == 0) {
            s.crossing[0] = coarse.entry * GROUP + fine.entry;
            s.crossing[1] = coarse.above + fine.above;
            s.crossing[2] = fine.inside;
            if constexpr (CS > 1) {
                s.crossing[3] = coarse.above_before + fine.above_before;
                s.crossing[4] = fine.inside_before;
            }
        }
    }
    __syncthreads();
    if constexpr (CS == 1) return {s.crossing[0], s.crossing[1], s.crossing[2], 0, 0};
    return {s.crossing[0], s.crossing[1], s.crossing[2], s.crossing[3], s.crossing[4]};
}
