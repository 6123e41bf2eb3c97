// Histograms over a row, counted by the blocks of a cluster together, and the bin in which the K-th entry lies.
#pragma once
#include "cluster.cuh"
#include "keys.cuh"

// How finely keys are counted. One block takes narrow bins, so that few entries are left in one; what the blocks of a
// cluster tell one another is kept short.
template <int CS>
struct Digit {
    static constexpr int BITS = CS == 1 ? 14 : 12;
    static constexpr int BINS = 1 << BITS, GROUP = CS == 1 ? 128 : 64, GROUPS = BINS / GROUP;
};
constexpr int LISTED = 2048, RANKED = 48, DIGIT = 256, PASSES = 6;
constexpr uint32_t ALL = ~0u;

// What a block tells the others of its part of the row in one round.
template <int CS>
struct alignas(16) Counts {
    uint32_t groups[Digit<CS>::GROUPS];  // entries in each group of bins
    uint32_t least, most;     // keys, of a bin that is being cut
    uint32_t unused[2];
};

// A block's shared memory.
template <int CS>
struct alignas(16) Shared {
    uint32_t bins[Digit<CS>::BINS];
    Counts<CS> counts[2][CS];                 // of each block; a fast block may be one round ahead
    uint32_t group[CS * Digit<CS>::GROUP];    // of each block: the bins of the crossing group
    uint64_t listed[LISTED];
    uint64_t ranked[RANKED];
    uint32_t digits[PASSES * DIGIT];
    uint32_t warp_selected[32], warp_listed[32];
    uint64_t threshold;
    uint32_t crossing[5];
    uint32_t list_size, ranked_size, above_before, group_uses;
    Mailbox counts_box, group_box, list_box;
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
    uint32_t inside_before;  // in the entry, blocks of lower rank
    uint32_t own;            // in the entry, this block
};

// One warp over CS rows of 32 * EACH counts, `pitch` apart; the answer is in every lane, but for blocks' own parts.
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
    uint32_t above = inclusive_sum(own, lane) - own;
    const int found = __ffs(__ballot_sync(ALL, above < need && above + own >= need)) - 1;
    Crossing c{};
#pragma unroll
    for (int j = EACH - 1; j >= 0; --j) {
        if (above < need && above + sums[j] >= need) c = {static_cast<uint32_t>(at + j), above, sums[j], 0, 0};
        above += sums[j];
    }
    c.entry = __shfl_sync(ALL, c.entry, found);
    c.above = __shfl_sync(ALL, c.above, found);
    c.inside = __shfl_sync(ALL, c.inside, found);
    return c;
}

// The bin of an entry is counted, and its group.
template <int CS>
__device__ __forceinline__ void count(Shared<CS>& s, Counts<CS>& own, uint32_t bin) {
    atomicAdd(&s.bins[bin], 1u);
    atomicAdd(&own.groups[bin / Digit<CS>::GROUP], 1u);
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

// The crossing bin of the histograms of a cluster's blocks together; with ALONE, of this block's. `round` counts the
// uses of the mailboxes. How many entries lie above it in blocks of lower rank is added to above_before, to be read
// after a barrier. Where `cut_bin` says how many entries are being cut, and they all have one key, entry is ALL and
// above holds the key.
template <bool ALONE, int CS>
__device__ __forceinline__ Crossing cross_histogram(Shared<CS>& s, uint32_t need, uint32_t rank, uint32_t round, uint32_t cut_bin) {
    using D = Digit<CS>;
    constexpr int PITCH = sizeof(Counts<CS>) / 4, BLOCKS = ALONE ? 1 : CS;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    Counts<CS>* counts = s.counts[round & 1];
    __syncthreads();
    if constexpr (BLOCKS > 1)
        if (warp < CS / 2) {  // half a warp for each other block
            const uint32_t to = 2 * warp + lane / 16;
            Counts<CS>& own = counts[rank];
            if (to != rank) {
                tell<D::GROUPS>(own.groups, own.groups, &s.counts_box, to, lane);
                if (cut_bin && lane % 16 == 0)
                    push(reinterpret_cast<uint4*>(&own.least), *reinterpret_cast<uint4*>(&own.least), &s.counts_box, to);
            }
        }
    if (warp == 0) {
        if constexpr (BLOCKS > 1) {
            __syncwarp();
            if (lane == 0) s.counts_box.expect((CS - 1) * (D::GROUPS * 4 + (cut_bin ? 16 : 0)));
            __syncwarp();
            s.counts_box.wait(round & 1);
        }
        const Counts<CS>* first = BLOCKS > 1 ? counts : &counts[rank];
        uint32_t least = ALL, most = 0;
        if (cut_bin) {
            least = __reduce_min_sync(ALL, lane < BLOCKS ? first[lane % BLOCKS].least : ALL);
            most = __reduce_max_sync(ALL, lane < BLOCKS ? first[lane % BLOCKS].most : 0);
        }
        if (cut_bin && least == most) {
            // Only how many each block has is left to know: the sum of its groups.
            uint32_t before = 0;
            for (uint32_t r = 0; BLOCKS > 1 && r < rank; ++r) before += sum_above<D::GROUPS>(counts[r].groups, ALL, lane);
            const uint32_t own = sum_above<D::GROUPS>(counts[rank].groups, ALL, lane);
            if (lane == 0)
                s.crossing[0] = ALL, s.crossing[1] = least, s.crossing[2] = cut_bin, s.crossing[3] = before, s.crossing[4] = own;
        } else {
            const Crossing coarse = find_crossing<BLOCKS, D::GROUPS / 32>(first->groups, PITCH, need, lane);
            uint32_t* bins = &s.bins[coarse.entry * D::GROUP];
            if constexpr (BLOCKS > 1) {
                uint32_t* own = &s.group[rank * D::GROUP];
#pragma unroll
                for (int r = 0; r < CS; r += 2)
                    if (r + lane / 16 != rank) tell<D::GROUP>(bins, own, &s.group_box, r + lane / 16, lane);
                for (int i = lane; i < D::GROUP / 4; i += 32) reinterpret_cast<uint4*>(own)[i] = reinterpret_cast<const uint4*>(bins)[i];
                __syncwarp();
                if (lane == 0) s.group_box.expect((CS - 1) * D::GROUP * 4);
                // While the others' bins are on their way:
                uint32_t above = 0;
                for (uint32_t r = 0; r < rank; ++r) above += sum_above<D::GROUPS>(counts[r].groups, coarse.entry, lane);
                if (lane == 0 && above) atomicAdd(&s.above_before, above);
                __syncwarp();
                s.group_box.wait(s.group_uses & 1);
                bins = s.group;
            }
            const Crossing fine = find_crossing<BLOCKS, D::GROUP / 32>(bins, D::GROUP, need - coarse.above, lane);
            uint32_t inside_before = 0;
            if constexpr (BLOCKS > 1)
                inside_before = __reduce_add_sync(ALL, lane < rank ? s.group[lane * D::GROUP + fine.entry] : 0);
            if (lane == 0) {
                const uint32_t entry = coarse.entry * D::GROUP + fine.entry;
                s.crossing[0] = entry;
                s.crossing[1] = coarse.above + fine.above;
                s.crossing[2] = fine.inside;
                s.crossing[3] = inside_before;
                s.crossing[4] = s.bins[entry];
                if constexpr (BLOCKS > 1) ++s.group_uses;
            }
        }
    }
    __syncthreads();
    const Crossing c{s.crossing[0], s.crossing[1], s.crossing[2], s.crossing[3], s.crossing[4]};
    if constexpr (BLOCKS > 1)
        if (c.entry != ALL && warp < rank) {  // each of these warps looks at one block's bins above the crossing one
            const uint32_t above = sum_above<D::GROUP>(s.group + warp * D::GROUP, c.entry % D::GROUP, lane);
            if (lane == 0 && above) atomicAdd(&s.above_before, above);
        }
    return c;
}
