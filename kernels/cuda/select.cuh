// The best K entries of a row, by a cluster of CS blocks (CS 1: one block), in ascending index order.
//
//   load      each block has a stretch of the row, each warp a stretch of that, in index order
//   rounds    a histogram of the keys' top bits; the blocks push the counts of groups of bins, then the bins of the
//             group in which the K-th entry lies, to one another, and each finds the same crossing bin. A bin too
//             full to be listed is cut again by the next bits of the key
//   listing   entries of the crossing bin go to every block, in any order: no two are equal
//   finish    8-bit digits until few are left, then the rank of each by comparison with the others
//   ties      where a whole bin has one key, each block knows from the counts how many of its own are chosen: they are
//             those of lowest index, and no block needs to hear of another's
//   emission  a prefix sum over "entry >= threshold" gives each entry its place
//
// No block reads another's shared memory: each reads only words that were pushed to it, and waits for all of them
// before it ends, so nothing is written to a block that has ended.
#pragma once
#include "finish.cuh"
#include "part.cuh"

// How often a kernel has used its mailboxes: what decides the parity of the next wait.
struct Uses {
    uint32_t rounds = 0, lists = 0;
};

// What a selection found.
struct Found {
    uint64_t threshold;      // this block's entries from here up are chosen
    uint32_t inside_before;  // chosen entries of the crossing bin in blocks of lower rank, but for listed ones
    uint32_t listed_before;  // listed entries of blocks of lower rank
    uint32_t listed_own;     // listed entries of this block
};

// One selection: `length` entries of a row, of which `need` are chosen, need < length.
template <class Row, Order O, int CS, int NT, int V>
struct Selection {
    static constexpr bool KEPT = V > 0;
    static constexpr int WARPS = NT / 32, BITS = Digit<CS>::BITS;
    Shared<CS>& s;
    uint32_t* words;  // V = 0: marks of chosen entries, [warp][group][lane]
    Part<Row, O, NT, V> part;
    uint32_t rank;
    int share, stretch;  // positions of a block, of a warp

    __device__ __forceinline__ Selection(Shared<CS>& s, uint32_t* words, const Row& row, uint32_t rank)
        : s(s), words(words), part{row}, rank(rank) {}

    // Deals a row of `length` entries out to the threads of the cluster.
    __device__ __forceinline__ void divide(int length) {
        const int end = part.row.head + length, warp = threadIdx.x / 32;
        share = (end + CS * 4 - 1) / (CS * 4) * 4;
        stretch = (share + WARPS * 4 - 1) / (WARPS * 4) * 4;
        const int first = static_cast<int>(rank) * share + warp * stretch;
        part.at = first + static_cast<int>(threadIdx.x % 32) * 4;
        part.from = max(part.row.head, first);
        part.to = min(min(first + stretch, static_cast<int>(rank + 1) * share), end);
        part.groups = (stretch + 1023) / 1024;
    }

    // Reads the scores to be kept, of a row that may be as long as `longest`: the length itself may still be on its way.
    __device__ __forceinline__ void load(int longest) {
        divide(longest);
        if constexpr (KEPT) part.read_group(part.at, part.to, part.keys);
    }
    // The length is here. A row much shorter than it might have been is dealt out again, so that all blocks have work.
    __device__ __forceinline__ void settle(int length, int longest) {
        if constexpr (KEPT) {
            if (CS > 1 && length < longest / 2) load(length);
            else part.to = min(part.to, part.row.head + length);
            part.settle();
        } else {
            divide(length);
        }
    }

    __device__ __forceinline__ Counts<CS>& counts(uint32_t round) { return s.counts[round & 1][rank]; }
    __device__ __forceinline__ void clear_bins(uint32_t round) {
        const uint4 zero = make_uint4(0, 0, 0, 0);
#pragma unroll
        for (int i = threadIdx.x; i < Digit<CS>::BINS / 4; i += NT) reinterpret_cast<uint4*>(s.bins)[i] = zero;
        if (threadIdx.x < Digit<CS>::GROUPS / 4) reinterpret_cast<uint4*>(counts(round).groups)[threadIdx.x] = zero;
        if (threadIdx.x == 0) counts(round).least = ALL, counts(round).most = 0;
    }
    // Clears what a selection counts in; a barrier must follow.
    __device__ __forceinline__ void clear(uint32_t round) {
        clear_bins(round);
        for (int i = threadIdx.x; i < PASSES * DIGIT / 4; i += NT)
            reinterpret_cast<uint4*>(s.digits)[i] = make_uint4(0, 0, 0, 0);
        if (threadIdx.x == 0) s.list_size = s.ranked_size = s.above_before = 0;
    }

    // Finds what is chosen. clear() and a barrier come before; `ready` is called between counting and the first push.
    template <class Ready>
    __device__ __forceinline__ Found find(uint32_t need, Uses& uses, Ready ready) {
        Counts<CS>& first = counts(uses.rounds);
        part.each([&](uint32_t key, uint32_t) { count(s, first, key >> (32 - BITS)); });
        ready();
        Crossing c = cross_histogram<false>(s, need, rank, uses.rounds++, 0);
        need -= c.above;
        Range range{static_cast<uint64_t>(c.entry) << (64 - BITS), 64 - BITS};
#pragma unroll 1
        while (c.inside != need && c.inside > LISTED && range.free_bits > 32) c = cut<false>(range, need, c.inside, uses.rounds++);
        if (c.inside == need) {
            mark_from(range.low);
            return {range.low, c.inside_before, 0, 0};
        }
        if (range.free_bits == 32) return find_ties(range, need, c.inside_before, c.own);
        if constexpr (CS == 1 && KEPT) {  // no list is needed: entries are visited where they are
            return {nth_largest<NT>(s, c.inside, need, range, KeptEntries<decltype(part)>{part}), 0, 0, 0};
        } else {
            mark_and_list(range, c.inside_before);
            __syncthreads();
            const uint32_t listed = s.list_size;
            if constexpr (CS > 1) share_list(c.inside_before, listed, c.inside, uses.lists++);
            const uint64_t threshold = nth_largest<NT>(s, c.inside, need, range, ListedEntries<NT>{s.listed, c.inside});
            return {threshold, 0, c.inside_before, listed};
        }
    }

    // Of entries with one key, `before` in blocks of lower rank and `own` in this one, the `need` of lowest index.
    __device__ __forceinline__ Found find_ties(Range range, uint32_t need, uint32_t before, uint32_t own) {
        const uint32_t chosen_before = min(before, need);
        if (before >= need || before + own <= need) {  // none of this block's, or all
            const uint64_t threshold = before >= need ? range.low | 0xffffffffu : range.low;
            mark_from(threshold);
            return {threshold, chosen_before, 0, 0};
        }
        need -= before;
        if (own > LISTED) {
            own = cut<true>(range, need, 0, 0).inside;
            if (own == need) {
                mark_from(range.low);
                return {range.low, chosen_before, 0, 0};
            }
        }
        if constexpr (KEPT) {
            return {nth_largest<NT>(s, own, need, range, KeptEntries<decltype(part)>{part}), chosen_before, 0, 0};
        } else {
            mark_and_list(range, 0);
            __syncthreads();
            return {nth_largest<NT>(s, own, need, range, ListedEntries<NT>{s.listed, own}), chosen_before, 0, own};
        }
    }

    // Cuts a range by its next bits to the bin in which the need-th of its entries lies, or to one key where all have
    // it: of the `all` entries of the cluster or, with ALONE, of this block's. Sets need for the bin.
    template <bool ALONE>
    __device__ __forceinline__ Crossing cut(Range& range, uint32_t& need, uint32_t all, uint32_t round) {
        clear_bins(round);
        __syncthreads();
        range.enter_index();
        const int shift = range.next_shift(BITS);
        const uint32_t mask = (1u << (range.free_bits - shift)) - 1;
        const uint32_t low = range.low_key(), span = range.key_span();
        Counts<CS>& counted = counts(round);
        uint32_t least = ALL, most = 0;
        part.each([&](uint32_t key, uint32_t index) {
            if (key - low > span) return;
            least = min(least, key), most = max(most, key);
            const uint64_t entry = entry_of(key, index);
            if (range.has(entry)) count(s, counted, static_cast<uint32_t>(entry >> shift) & mask);
        });
        least = __reduce_min_sync(ALL, least), most = __reduce_max_sync(ALL, most);
        if (threadIdx.x % 32 == 0) atomicMin(&counted.least, least), atomicMax(&counted.most, most);
        const Crossing c = cross_histogram<ALONE>(s, need, rank, round, all);
        if (c.entry == ALL) {
            range = {static_cast<uint64_t>(c.above) << 32, 32};
            return c;
        }
        range.low |= static_cast<uint64_t>(c.entry) << shift, range.free_bits = shift;
        need -= c.above;
        return c;
    }

    // V = 0: marks the entries from `threshold` up. Kept entries need no marks.
    __device__ __forceinline__ void mark_from(uint64_t threshold) {
        if constexpr (!KEPT)
            part.each_group([&](const uint32_t* keys, uint32_t live, int group) {
                words[word_of(group)] = part.from_threshold(keys, part.at + group * 1024, threshold) & live;
            });
    }

    // Lists the entries in `range`, from place `at` on; V = 0: marks those above it.
    __device__ __forceinline__ void mark_and_list(const Range& range, uint32_t at) {
        const uint32_t low = range.low_key(), span = range.key_span(), next = low + span + 1;
        part.each_group([&](const uint32_t* keys, uint32_t live, int group) {
            const uint32_t first = part.index(part.at + group * 1024);
            uint32_t inside = part.marked(keys, low, span) & live;
            uint32_t above = 0;
            if constexpr (!KEPT)
                if (next != 0) above = part.marked(keys, next, ALL - next) & live;
            if (!range.by_key())
                for (uint32_t rest = inside; rest; rest &= rest - 1) {
                    const uint32_t bit = rest & -rest;
                    const uint64_t entry = part.entry_at(keys, first, __ffs(rest) - 1);
                    if (range.has(entry)) continue;
                    inside ^= bit;
                    if (entry > range.low) above |= bit;
                }
            for (uint32_t rest = inside; rest; rest &= rest - 1)
                s.listed[at + atomicAdd(&s.list_size, 1u)] = part.entry_at(keys, first, __ffs(rest) - 1);
            if constexpr (!KEPT) words[word_of(group)] = above;
        });
    }

    // Pushes this block's listed entries to the other blocks, and waits for theirs.
    __device__ __forceinline__ void share_list(uint32_t at, uint32_t own, uint32_t all, uint32_t use) {
        if (threadIdx.x == 0) s.list_box.expect((all - own) * 8);
#pragma unroll 1
        for (uint32_t i = threadIdx.x; i < own * CS; i += NT) {
            uint64_t* entry = &s.listed[at + i / CS];
            if (i % CS != rank) push(entry, *entry, &s.list_box, i % CS);
        }
        s.list_box.wait(use & 1);
    }

    __device__ __forceinline__ int word_of(int group) const {
        return (static_cast<int>(threadIdx.x / 32) * part.groups + group) * 32 + static_cast<int>(threadIdx.x % 32);
    }

    // Writes column(index) of each entry from the threshold up, in index order.
    template <class Column>
    __device__ __forceinline__ void emit(const Found& found, int* out, Column column) {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        uint32_t chosen = 0, total = 0;
        if constexpr (KEPT) {
            chosen = part.from_threshold(part.keys, part.at, found.threshold) & part.valid;
        } else {
            mark_listed(found);
            for (int g = 0; g < part.groups; ++g) total += __popc(words[word_of(g)]);
        }
        const Places<KEPT ? V : 1> places(chosen, lane);
        total = KEPT ? places.total() : __reduce_add_sync(ALL, total);
        uint32_t before = 0;  // chosen among the entries that blocks of lower rank listed
        if constexpr (CS > 1) {
            for (uint32_t i = threadIdx.x; i < found.listed_before; i += NT) before += s.listed[i] >= found.threshold;
            before = __reduce_add_sync(ALL, before);
        }
        if (lane == 0) s.warp_selected[warp] = total, s.warp_listed[warp] = before;
        __syncthreads();
        uint32_t base = lane < warp ? s.warp_selected[lane] : 0;
        if (CS > 1 && lane < WARPS) base += s.warp_listed[lane];
        base = __reduce_add_sync(ALL, base) + found.inside_before + (CS > 1 ? s.above_before : 0);
        if constexpr (KEPT) {
            places.write(out + base, chosen, part.index(part.at), column);
        } else {
            for (int g = 0; g < part.groups; ++g) {
                const uint32_t word = words[word_of(g)];
                if (!__any_sync(ALL, word != 0)) continue;
                const Places<8> of_group(word, lane);
                of_group.write(out + base, word, part.index(part.at + g * 1024), column);
                base += of_group.total();
            }
        }
    }

    // Marks this block's listed entries from the threshold up where the others are marked.
    __device__ __forceinline__ void mark_listed(const Found& found) {
        for (uint32_t i = threadIdx.x; i < found.listed_own; i += NT) {
            const uint64_t entry = s.listed[found.listed_before + i];
            if (entry < found.threshold) continue;
            const int in_block = static_cast<int>(~static_cast<uint32_t>(entry)) + part.row.head - static_cast<int>(rank) * share;
            const int in_warp = in_block % stretch, in_group = in_warp % 1024;
            const int word = (in_block / stretch * part.groups + in_warp / 1024) * 32 + in_group % 128 / 4;
            atomicOr(&words[word], 1u << (in_group / 128 * 4 + in_group % 4));
        }
        __syncthreads();
    }
};

// Makes the mailboxes ready; the other blocks may push once cluster_wait() has returned.
template <int CS>
__device__ __forceinline__ void open_mailboxes(Shared<CS>& s) {
    if constexpr (CS > 1) {
        if (threadIdx.x == 0) {
            s.counts_box.init(), s.group_box.init(), s.list_box.init();
            s.group_uses = 0;
            asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        }
        __syncwarp();
        cluster_arrive();
    }
}

// A row that has no more than K entries: all of them, then -1.
template <int NT>
__device__ __forceinline__ void write_all(int* out, int k, int length) {
    for (int i = threadIdx.x; i < k; i += NT) out[i] = i < length ? i : -1;
}
