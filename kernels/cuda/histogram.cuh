// Histograms over a row, counted by the blocks of a cluster together, and the bin in which the K-th entry lies.
#pragma once
#include "bins.cuh"
#include "cluster.cuh"
#include "keys.cuh"

constexpr int GROUP_BITS = 6, GROUP = 1 << GROUP_BITS, GROUPS = BINS / GROUP;
constexpr int LISTED = 2048, RANKED = 64, DIGIT_BITS = 8, DIGIT = 1 << DIGIT_BITS, PASSES = 4;
constexpr uint32_t ALL = ~0u;

// What a block tells the others of its part of the row in one round.
struct alignas(16) Counts {
    uint32_t groups[GROUPS];  // entries in each group of bins
    uint32_t least, most;     // keys, of a range that is being cut
    uint32_t unused[2];
};

// A block's shared memory.
template <int CS>
struct alignas(16) Shared {
    uint32_t bins[BINS];
    Counts counts[2][CS];     // of each block; a fast block may be one round ahead
    uint32_t group[CS > 1 ? CS * GROUP : 4];  // of each block: the bins of the crossing group
    uint64_t listed[LISTED];
    uint64_t ranked[RANKED];
    uint32_t digits[PASSES * DIGIT];
    uint4 crossing;
    uint2 threshold;
    uint32_t of_warp[32], ties_of_warp[32];
    uint32_t list_size, ranked_size, above_before, group_uses;
    Mailbox counts_box, group_box, list_box;
};

// One more in a counter, whose address in shared memory is given.
__device__ __forceinline__ void add_one(uint32_t counter) {
    asm volatile("red.shared::cta.add.u32 [%0], 1;" ::"r"(counter) : "memory");
}

// The sum over a warp's lanes up to this one.
__device__ __forceinline__ uint32_t inclusive_sum(uint32_t value) {
#pragma unroll
    for (int step = 1; step < 32; step *= 2)
        asm volatile(
            "{ .reg .pred p; .reg .u32 below; shfl.sync.up.b32 below|p, %0, %1, 0, 0xffffffff; @p add.u32 %0, %0, below; }"
            : "+r"(value)
            : "r"(step));
    return value;
}

// Where counts, summed from the highest entry down, reach `need`.
struct Crossing {
    uint32_t entry;
    uint32_t above;          // in higher entries, all blocks
    uint32_t inside;         // in the entry, all blocks
    uint32_t inside_before;  // in the entry, blocks of lower rank
};

// Of a lane's EACH counts, with `above` counted in higher lanes, the one in which `need` is reached; above >= need or
// above + their sum < need: none of them.
template <int EACH>
__device__ __forceinline__ Crossing crossing_in(const uint32_t* counts, uint32_t above, uint32_t need) {
    Crossing c{EACH - 1, above, counts[EACH - 1], 0};
#pragma unroll
    for (int i = EACH - 1; i > 0; --i) {
        above += counts[i];
        if (above < need) c.entry = i - 1, c.above = above, c.inside = counts[i - 1];
    }
    return c;
}

// One warp over CS rows of 32 * EACH counts, `pitch` apart; the answer is in every lane.
template <int CS, int EACH>
__device__ __forceinline__ Crossing find_crossing(const uint32_t* counts, int pitch, uint32_t need, int lane) {
    uint32_t sums[EACH] = {};
    const int at = 32 * EACH - EACH * (lane + 1);  // this lane's entries; lane 0 has the highest
#pragma unroll
    for (int r = 0; r < CS; ++r)
#pragma unroll
        for (int j = 0; j < EACH; j += 2) {
            const uint2 two = *reinterpret_cast<const uint2*>(counts + r * pitch + at + j);
            sums[j] += two.x, sums[j + 1] += two.y;
        }
    uint32_t own = 0;
#pragma unroll
    for (int j = 0; j < EACH; ++j) own += sums[j];
    const uint32_t above = inclusive_sum(own) - own;
    const int found = __ffs(__ballot_sync(ALL, above < need && above + own >= need)) - 1;
    const Crossing c = crossing_in<EACH>(sums, above, need);
    return {__shfl_sync(ALL, at + c.entry, found), __shfl_sync(ALL, c.above, found), __shfl_sync(ALL, c.inside, found), 0};
}

// COUNT counts to the same place in another block, by half a warp.
template <int COUNT>
__device__ __forceinline__ void tell(const uint32_t* from, uint32_t* to, Mailbox* box, int block, int lane) {
#pragma unroll
    for (int i = 0; i < COUNT / 4; i += 16)
        push(reinterpret_cast<uint4*>(to) + i + lane % 16, reinterpret_cast<const uint4*>(from)[i + lane % 16], box, block);
}

// Of a row of counts, those of entries above `entry`, summed over a warp.
template <int COUNT>
__device__ __forceinline__ uint32_t sum_above(const uint32_t* counts, uint32_t entry, int lane) {
    uint32_t sum = 0;
#pragma unroll
    for (int i = 0; i < COUNT; i += 32)
        if (i + lane > static_cast<int>(entry)) sum += counts[i + lane];
    return __reduce_add_sync(ALL, sum);
}

// The groups' counts, each summed by the threads that have its bins.
template <int NT>
__device__ __forceinline__ void sum_groups(const uint32_t* bins, uint32_t* groups) {
    constexpr int EACH = BINS / NT, THREADS = GROUP / EACH;
    uint32_t sum = 0;
#pragma unroll
    for (int i = 0; i < EACH / 4; ++i) {
        const int at = (threadIdx.x / THREADS * (EACH / 4) + i) * THREADS + threadIdx.x % THREADS;
        const uint4 four = reinterpret_cast<const uint4*>(bins)[at];
        sum += four.x + four.y + four.z + four.w;
    }
#pragma unroll
    for (int step = 1; step < THREADS; step *= 2) sum += __shfl_xor_sync(ALL, sum, step);
    if (threadIdx.x % THREADS == 0) groups[threadIdx.x / THREADS] = sum;
}

// The crossing bin of one block's histogram. Each warp sums its share of the bins; the one in whose share the crossing
// lies looks for it there. With `cut`, the entry is ALL where all keys that were counted are one, and above is that key.
template <int NT, class S>
__device__ __forceinline__ Crossing cross_alone(S& s, uint32_t need, const Counts& own_counts, bool cut) {
    constexpr int WARPS = NT / 32, EACH = BINS / NT;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    __syncthreads();
    if (cut && own_counts.least == own_counts.most) return {ALL, own_counts.least, 0, 0};
    uint32_t own = 0;
#pragma unroll
    for (int i = 0; i < EACH / 4; ++i) {
        const uint4 four = reinterpret_cast<const uint4*>(s.bins)[(warp * (EACH / 4) + i) * 32 + lane];
        own += four.x + four.y + four.z + four.w;
    }
    const uint32_t of_warp = __reduce_add_sync(ALL, own);
    if (lane == 0) s.of_warp[warp] = of_warp;
    __syncthreads();
    uint32_t above = __reduce_add_sync(ALL, lane > warp && lane < WARPS ? s.of_warp[lane] : 0);
    if (above < need && above + of_warp >= need) {
        uint32_t counts[EACH];
        own = 0;
#pragma unroll
        for (int i = 0; i < EACH; i += 4) {
            const uint4 four = reinterpret_cast<const uint4*>(s.bins)[(threadIdx.x * EACH + i) / 4];
            counts[i] = four.x, counts[i + 1] = four.y, counts[i + 2] = four.z, counts[i + 3] = four.w;
            own += four.x + four.y + four.z + four.w;
        }
        above += of_warp - inclusive_sum(own);
        if (above < need && above + own >= need) {
            const Crossing c = crossing_in<EACH>(counts, above, need);
            s.crossing = make_uint4(threadIdx.x * EACH + c.entry, c.above, c.inside, 0);
        }
    }
    __syncthreads();
    const uint4 c = s.crossing;
    return {c.x, c.y, c.z, 0};
}

// The crossing bin of the histograms of a cluster's blocks together. `round` counts the uses of the mailboxes. How many
// entries lie above it in blocks of lower rank is added to above_before, to be read after a barrier. Where `cut` says
// how many entries are being cut, and they all have one key, entry is ALL and above is the key.
template <int NT, bool SUMMED, int CS>
__device__ __forceinline__ Crossing cross_together(Shared<CS>& s, uint32_t need, uint32_t rank, uint32_t round, bool cut) {
    constexpr int PITCH = sizeof(Counts) / 4;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    Counts* counts = s.counts[round & 1];
    __syncthreads();
    if constexpr (SUMMED) {
        sum_groups<NT>(s.bins, counts[rank].groups);
        __syncthreads();
    }
    if (warp < CS / 2) {  // half a warp for each other block
        const uint32_t to = 2 * warp + lane / 16;
        Counts& own = counts[rank];
        if (to != rank) {
            tell<GROUPS>(own.groups, own.groups, &s.counts_box, to, lane);
            if (cut && lane % 16 == 0)
                push(reinterpret_cast<uint4*>(&own.least), *reinterpret_cast<uint4*>(&own.least), &s.counts_box, to);
        }
    }
    if (warp == 0) {
        __syncwarp();
        if (lane == 0) s.counts_box.expect((CS - 1) * (GROUPS * 4 + (cut ? 16 : 0)));
        __syncwarp();
        s.counts_box.wait(round & 1);
        uint32_t least = ALL, most = 0;
        if (cut) {
            least = __reduce_min_sync(ALL, lane < CS ? counts[lane % CS].least : ALL);
            most = __reduce_max_sync(ALL, lane < CS ? counts[lane % CS].most : 0);
        }
        if (cut && least == most) {
            // Only how many each block has is left to know: the sum of its groups.
            uint32_t before = 0;
            for (uint32_t r = 0; r < rank; ++r) before += sum_above<GROUPS>(counts[r].groups, ALL, lane);
            if (lane == 0) s.crossing = make_uint4(ALL, least, 0, before);
        } else {
            const Crossing coarse = find_crossing<CS, GROUPS / 32>(counts->groups, PITCH, need, lane);
            const uint32_t* bins = &s.bins[coarse.entry * GROUP];
            uint32_t* own = &s.group[rank * GROUP];
#pragma unroll
            for (int r = 0; r < CS; r += 2)
                if (r + lane / 16 != rank) tell<GROUP>(bins, own, &s.group_box, r + lane / 16, lane);
            for (int i = lane; i < GROUP / 4; i += 32)
                reinterpret_cast<uint4*>(own)[i] = reinterpret_cast<const uint4*>(bins)[i];
            __syncwarp();
            if (lane == 0) s.group_box.expect((CS - 1) * GROUP * 4);
            // While the others' bins are on their way:
            uint32_t above = 0;
            for (uint32_t r = 0; r < rank; ++r) above += sum_above<GROUPS>(counts[r].groups, coarse.entry, lane);
            if (lane == 0 && above) atomicAdd(&s.above_before, above);
            __syncwarp();
            s.group_box.wait(s.group_uses & 1);
            const Crossing fine = find_crossing<CS, GROUP / 32>(s.group, GROUP, need - coarse.above, lane);
            const uint32_t before = __reduce_add_sync(ALL, lane < rank ? s.group[lane * GROUP + fine.entry] : 0);
            if (lane == 0) {
                s.crossing = make_uint4(coarse.entry * GROUP + fine.entry, coarse.above + fine.above, fine.inside, before);
                ++s.group_uses;
            }
        }
    }
    __syncthreads();
    const uint4 c = s.crossing;
    if (c.x != ALL && warp < rank) {  // each of these warps looks at one block's bins above the crossing one
        const uint32_t above = sum_above<GROUP>(s.group + warp * GROUP, c.x % GROUP, lane);
        if (lane == 0 && above) atomicAdd(&s.above_before, above);
    }
    return {c.x, c.y, c.z, c.w};
}
