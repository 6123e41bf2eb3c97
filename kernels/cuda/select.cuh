// The best K entries of a row, by a cluster of CS blocks (CS 1: one block), in ascending index order.
//
//   load      each block has a stretch of the row, each warp a stretch of that, in index order
//   rounds    a histogram of the keys; the blocks push the counts of groups of bins, then the bins of the group in
//             which the K-th entry lies, to one another, and each finds the same crossing bin. A bin too full to be
//             listed is cut again by the next bits of its keys
//   listing   entries of the crossing bin go to every block, in any order
//   finish    8-bit digits of the key until few entries are left, then the rank of each by comparison
//   ties      what is found is the K-th key, and how many of the entries with that key are chosen: they are those of
//             lowest index, as a prefix sum counts them
//   emission  a prefix sum over what is chosen gives each entry its place
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
    Threshold threshold;
    uint32_t listed;       // entries in the list, of all blocks, or 0
    uint32_t listed_at;    // where this block's own begin,
    uint32_t listed_own;   // and how many they are
    uint64_t a, b;         // listed entries at this lane's number and 32 further on, or 0
    uint32_t tied_before;  // without a list: entries of the crossing bin in blocks of lower rank
};

// One selection: `length` entries of a row, of which `need` are chosen, need < length.
template <class Row, Order O, int CS, int NT, int V>
struct Selection {
    static constexpr bool KEPT = V > 0;
    static constexpr int WARPS = NT / 32;
    static constexpr bool SUMMED = V != 1 && V != 2;  // many keys: groups are summed, not counted with each key
    static constexpr int LISTABLE = !KEPT ? LISTED : CS > 1 ? 512 : RANKED;
    using RowPart = Part<Row, O, NT, V>;
    Shared<CS>& s;
    uint32_t* words;  // V = 0: marks of chosen entries, [warp][group][lane]
    RowPart part;
    uint32_t rank;
    int share, stretch;  // positions of a block, of a warp
    int end;             // the first position behind the row

    __device__ __forceinline__ Selection(Shared<CS>& s, uint32_t* words, const Row& row, uint32_t rank)
        : s(s), words(words), part{row}, rank(rank) {}

    // Deals a row of `length` entries out to the threads of the cluster. Warps get whole groups, as long as there are any:
    // in a group that is only partly live each position has to be looked at.
    __device__ __forceinline__ void divide(int length) {
        constexpr int GROUP_OF_EACH = WARPS * RowPart::GROUP_POSITIONS;
        const int warp = threadIdx.x / 32;
        end = part.row.head + length;
        share = (end + CS * 4 - 1) / (CS * 4) * 4;
        part.groups = KEPT ? 1 : (share + GROUP_OF_EACH - 1) / GROUP_OF_EACH;
        stretch = part.groups * RowPart::GROUP_POSITIONS;
        const int first = static_cast<int>(rank) * share + warp * stretch;
        part.at = first + static_cast<int>(threadIdx.x % 32) * 4;
        part.from = max(part.row.head, first);
        part.to = min(min(first + stretch, static_cast<int>(rank + 1) * share), end);
    }

    // Reads the scores to be kept, of a row that may be as long as `longest`: the length itself may still be on its way.
    __device__ __forceinline__ void load(int longest) {
        divide(longest);
        if constexpr (KEPT) part.read_group(part.at, part.keys);
    }
    // The length is here. A row much shorter than it might have been is dealt out again, so that all blocks have work.
    __device__ __forceinline__ void settle(int length, int longest) {
        if constexpr (KEPT) {
            if (CS > 1 && length < longest / 2) load(length);
            end = part.row.head + length;
            part.to = min(part.to, end);
            part.to_keys(part.at, part.keys);
        } else {
            divide(length);
        }
    }
    // Positions of blocks of a rank below `block` that hold no entry, but are counted as if they held the lowest key.
    __device__ __forceinline__ uint32_t idle_before(int block) const {
        const int positions = NT * RowPart::KEYS * (KEPT ? 1 : part.groups);
        return block * positions - (max(min(block * share, end), part.row.head) - part.row.head);
    }

    __device__ __forceinline__ Counts& counts(uint32_t round) { return s.counts[round & 1][rank]; }
    __device__ __forceinline__ void clear_bins(uint32_t round) {
        const uint4 zero = make_uint4(0, 0, 0, 0);
#pragma unroll
        for (int i = 0; i < BINS / 4; i += NT) reinterpret_cast<uint4*>(s.bins)[i + threadIdx.x] = zero;
        if (CS > 1 && !SUMMED && threadIdx.x < GROUPS / 4)
            reinterpret_cast<uint4*>(counts(round).groups)[threadIdx.x] = zero;
        if (threadIdx.x == 0) counts(round).least = ALL, counts(round).most = 0;
    }
    // Clears what a selection counts in; a barrier must follow.
    __device__ __forceinline__ void clear(uint32_t round) {
        clear_bins(round);
        if (LISTABLE > RANKED && threadIdx.x < PASSES * DIGIT / 4)
            reinterpret_cast<uint4*>(s.digits)[threadIdx.x] = make_uint4(0, 0, 0, 0);
        if (threadIdx.x == 0) s.list_size = s.ranked_size = s.above_before = 0;
    }

    __device__ __forceinline__ Crossing cross(uint32_t need, uint32_t round, bool cut) {
        if constexpr (CS > 1) return cross_together<NT, SUMMED>(s, need, rank, round, cut);
        else return cross_alone<NT>(s, need, counts(round), cut);
    }

    // Finds what is chosen. clear() and a barrier come before; `ready` is called between counting and the first push.
    template <class Ready>
    __device__ __forceinline__ Found find(uint32_t need, Uses& uses, Ready ready) {
        const uint32_t middle = opaque(shared_address(&s.bins[SIDE]));
        const uint32_t middle_group = opaque(shared_address(&counts(uses.rounds).groups[GROUPS / 2]));
        part.each_group([&](const uint32_t* keys, int, int) {
#pragma unroll
            for (int i = 0; i < RowPart::KEYS; ++i) {
                const int bin = scaled_bin(keys[i]);
                add_one(middle + (bin >> (STEP_BITS - 2)));
                if constexpr (CS > 1 && !SUMMED) add_one(middle_group + 4 * (bin >> (STEP_BITS + GROUP_BITS)));
            }
        });
        ready();
        Crossing c = cross(need, uses.rounds++, false);
        need -= c.above;
        Range range = range_of_bin(c.entry);
        if (c.entry == 0) c.inside -= idle_before(CS), c.inside_before -= idle_before(rank);
#pragma unroll 1
        while (__builtin_expect(c.inside != need && c.inside > LISTABLE && range.least != range.most, 0))
            c = cut(range, need, uses.rounds++);
        if (c.inside == need || range.least == range.most) {
            const Threshold threshold{range.least, c.inside == need ? ALL : need};
            if constexpr (!KEPT) {
                if (threshold.ties == ALL) mark_from(threshold.key);
                else mark_ties(threshold, c.inside_before);
            }
            return {threshold, 0, 0, 0, 0, 0, c.inside_before};
        }
        mark_and_list(range, c.inside_before);
        __syncthreads();
        const uint32_t own = CS > 1 || !KEPT ? s.list_size : 0;
        if constexpr (CS > 1) share_list(c.inside_before, own, c.inside, uses.lists++);
        const int lane = threadIdx.x % 32;
        const uint64_t a = lane < c.inside ? s.listed[lane] : 0, b = lane + 32 < c.inside ? s.listed[lane + 32] : 0;
        const Threshold threshold = find_threshold<NT, LISTABLE>(s, c.inside, need, range, a, b);
        return {threshold, c.inside, c.inside_before, own, KEPT ? a : 0, KEPT ? b : 0, 0};
    }

    // Cuts a range by its next bits to the bin in which the need-th of its entries lies, or to one key where all have
    // it, and sets need for the bin. One block that keeps its keys looks first from where to where they reach.
    __device__ __forceinline__ Crossing cut(Range& range, uint32_t& need, uint32_t round) {
        constexpr bool LOOKS = CS == 1 && KEPT;
        Counts& counted = counts(round);
        uint32_t least = ALL, most = 0;
        clear_bins(round);
        __syncthreads();
        if constexpr (LOOKS) {
            const uint32_t live = range.least ? ALL : part.live(part.at);
#pragma unroll
            for (int i = 0; i < RowPart::KEYS; ++i)
                if (range.has(part.keys[i]) && (live >> i & 1))
                    least = min(least, part.keys[i]), most = max(most, part.keys[i]);
            least = __reduce_min_sync(ALL, least), most = __reduce_max_sync(ALL, most);
            if (threadIdx.x % 32 == 0) atomicMin(&counted.least, least), atomicMax(&counted.most, most);
            __syncthreads();
            range = {counted.least, counted.most};
            if (range.least == range.most) return {ALL, range.least, 0, 0};
        }
        const int shift = range.shift(BIN_BITS);
        const uint32_t bins = shared_address(s.bins);
        part.each_group([&](const uint32_t* keys, int start, int) {
            const uint32_t live = range.least ? ALL : part.live(start);
#pragma unroll
            for (int i = 0; i < RowPart::KEYS; ++i) {
                if (!range.has(keys[i]) || !(live >> i & 1)) continue;
                if constexpr (!LOOKS) least = min(least, keys[i]), most = max(most, keys[i]);
                const uint32_t bin = keys[i] >> shift & (BINS - 1);
                add_one(bins + 4 * bin);
                if constexpr (CS > 1 && !SUMMED) atomicAdd(&counted.groups[bin / GROUP], 1u);
            }
        });
        if constexpr (!LOOKS) {
            least = __reduce_min_sync(ALL, least), most = __reduce_max_sync(ALL, most);
            if (threadIdx.x % 32 == 0) atomicMin(&counted.least, least), atomicMax(&counted.most, most);
        }
        const Crossing c = cross(need, round, !LOOKS);
        if (c.entry == ALL) {
            range = {c.above, c.above};
            return c;
        }
        range = range.part(c.entry, BIN_BITS, shift);
        need -= c.above;
        return c;
    }

    // V = 0: marks the entries from `least` up. Kept entries need no marks.
    __device__ __forceinline__ void mark_from(uint32_t least) {
        part.each_group([&](const uint32_t* keys, int start, int group) {
            words[word_of(group)] = part.marked_from(keys, least, start);
        });
    }

    // V = 0: marks what is chosen where `tied_before` entries of blocks of lower rank have the threshold's key. Ties are
    // counted before any is chosen: the row is read twice, unless shared memory holds the ties' marks too.
    __device__ __forceinline__ void mark_ties(const Threshold& threshold, uint32_t tied_before) {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        uint32_t* marked_ties = words + NT * part.groups;
        const bool kept = shared_address(marked_ties + NT * part.groups) - shared_address(&s) <= dynamic_shared_bytes();
        uint32_t own = 0;
        part.each_group([&](const uint32_t* keys, int start, int group) {
            const uint32_t ties = tied(keys, threshold.key, start);
            own += __popc(ties);
            if (kept) words[word_of(group)] = part.marked_above(keys, threshold.key), marked_ties[word_of(group)] = ties;
        });
        own = __reduce_add_sync(ALL, own);
        if (lane == 0) s.ties_of_warp[warp] = own;
        __syncthreads();
        uint32_t before = __reduce_add_sync(ALL, lane < warp ? s.ties_of_warp[lane] : 0) + tied_before;
        auto choose = [&](uint32_t above, uint32_t ties, int group) {
            if (before < threshold.ties && __any_sync(ALL, ties != 0)) {
                const Places<RowPart::VECTORS> places(ties);
                above |= places.first(ties, threshold.ties - before);
                before += places.total();
            }
            words[word_of(group)] = above;
        };
        if (kept)
            for (int g = 0; g < part.groups; ++g) choose(words[word_of(g)], marked_ties[word_of(g)], g);
        else
            part.each_group([&](const uint32_t* keys, int start, int group) {
                choose(part.marked_above(keys, threshold.key), tied(keys, threshold.key, start), group);
            });
    }

    // The bits of entries with this key.
    __device__ __forceinline__ uint32_t tied(const uint32_t* keys, uint32_t key, int start) const {
        return part.marked_from(keys, key, start) & ~part.marked_above(keys, key);
    }

    // Lists the entries in `range`, from place `first` on. Those above it are counted (V = 0: marked).
    __device__ __forceinline__ void mark_and_list(const Range& range, uint32_t first) {
        uint32_t total = 0;
        part.each_group([&](const uint32_t* keys, int start, int group) {
            const uint32_t above = part.marked_above(keys, range.most);
            const uint32_t inside = part.marked_from(keys, range.least, start) & ~above;
            if (inside) {
                uint32_t place = first + atomicAdd(&s.list_size, __popc(inside));
                for (uint32_t rest = inside; rest; rest &= rest - 1)
                    s.listed[place++] = part.entry_at(keys, start, __ffs(rest) - 1);
            }
            if constexpr (KEPT) total = __popc(above);
            else words[word_of(group)] = above;
        });
        if constexpr (KEPT) {
            total = __reduce_add_sync(ALL, total);
            if (threadIdx.x % 32 == 0) s.of_warp[threadIdx.x / 32] = total;
        }
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

    // Chosen entries before some place: those that are above the threshold's key, and those that have it.
    struct Before {
        uint32_t above, tied;
    };
    // Of the listed entries with an index below `index`, and the lanes' `above` besides.
    __device__ __forceinline__ Before listed_before(const Found& found, int index, uint32_t above) const {
        uint32_t both = above;
        auto count = [&](uint64_t entry) {
            if (index_in(entry) < index)
                both += key_in(entry) > found.threshold.key ? 1u : key_in(entry) == found.threshold.key ? 0x10000u : 0u;
        };
        if constexpr (KEPT) count(found.a), count(found.b);  // 0 has the largest index there is
        if constexpr (LISTABLE > RANKED)
#pragma unroll 1
            for (uint32_t i = threadIdx.x % 32 + (KEPT ? RANKED : 0); i < found.listed; i += 32) count(s.listed[i]);
        both = __reduce_add_sync(ALL, both);
        return {both & 0xffffu, both >> 16};
    }

    // Writes column(index) of each chosen entry, in index order.
    template <class Column>
    __device__ __forceinline__ void emit(const Found& found, int* out, Column column) {
        if constexpr (KEPT) emit_kept(found, out, column);
        else emit_marked(found, out, column);
    }

    template <class Column>
    __device__ __forceinline__ void emit_kept(const Found& found, int* out, Column column) {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        const Threshold t = found.threshold;
        uint32_t chosen = part.marked_from(part.keys, t.key, part.at);
        Before before;
        if (__builtin_expect(t.ties == ALL, 1)) {
            before = chosen_before(found, chosen, lane, warp);
        } else {
            const uint32_t ties = tied(part.keys, t.key, part.at);
            chosen &= ~ties;
            if (!found.listed) {
                const uint32_t own = __reduce_add_sync(ALL, __popc(ties));
                if (lane == 0) s.ties_of_warp[warp] = own;
            }
            before = chosen_before(found, chosen, lane, warp);
            if (!found.listed) before.tied += __reduce_add_sync(ALL, lane < warp ? s.ties_of_warp[lane] : 0);
            if (before.tied < t.ties) {
                const Places<V> of_ties(ties);
                chosen |= of_ties.first(ties, t.ties - before.tied);
            }
        }
        const uint32_t base = before.above + min(before.tied, t.ties) + (CS > 1 ? s.above_before : 0);
        const Places<V> places(chosen);
        places.write(out + base, chosen, part.index(part.at), column);
    }

    // Before this warp, but for what lies above the crossing bin in blocks of lower rank, and, without a list, for ties
    // in this block's lower warps. With a list, of_warp counts what lies above the bin already.
    __device__ __forceinline__ Before chosen_before(const Found& found, uint32_t chosen, int lane, int warp) {
        if (found.listed) return listed_before(found, part.index(part.from), lane < warp ? s.of_warp[lane] : 0);
        const uint32_t own = __reduce_add_sync(ALL, __popc(chosen));
        if (lane == 0) s.of_warp[warp] = own;
        __syncthreads();
        return {__reduce_add_sync(ALL, lane < warp ? s.of_warp[lane] : 0), found.tied_before};
    }

    template <class Column>
    __device__ __forceinline__ void emit_marked(const Found& found, int* out, Column column) {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        const Threshold t = found.threshold;
        uint32_t before = min(found.tied_before, t.ties);
        if (found.listed) {
            const Before listed = listed_before(found, part.index(max(part.row.head, static_cast<int>(rank) * share)), 0);
            before = listed.above + min(listed.tied, t.ties);
            if (t.ties == ALL) mark_listed(found);
            else mark_ties(t, listed.tied);
            __syncthreads();
        }
        uint32_t total = 0;
        for (int g = 0; g < part.groups; ++g) total += __popc(words[word_of(g)]);
        total = __reduce_add_sync(ALL, total);
        if (lane == 0) s.of_warp[warp] = total;
        __syncthreads();
        uint32_t base = __reduce_add_sync(ALL, lane < warp ? s.of_warp[lane] : 0) + before + (CS > 1 ? s.above_before : 0);
        for (int g = 0; g < part.groups; ++g) {
            const uint32_t word = words[word_of(g)];
            if (!__any_sync(ALL, word != 0)) continue;
            const Places<8> of_group(word);
            of_group.write(out + base, word, part.index(part.at + g * RowPart::GROUP_POSITIONS), column);
            base += of_group.total();
        }
    }

    // V = 0: marks this block's listed entries from the threshold's key up where the others are marked.
    __device__ __forceinline__ void mark_listed(const Found& found) {
        for (uint32_t i = threadIdx.x; i < found.listed_own; i += NT) {
            const uint64_t entry = s.listed[found.listed_at + i];
            if (key_in(entry) < found.threshold.key) continue;
            const int in_block = static_cast<int>(index_in(entry)) + part.row.head - static_cast<int>(rank) * share;
            const int in_warp = in_block % stretch, group = in_warp / RowPart::GROUP_POSITIONS;
            const int in_group = in_warp % RowPart::GROUP_POSITIONS;
            const int word = (in_block / stretch * part.groups + group) * 32 + in_group % 128 / 4;
            atomicOr(&words[word], 1u << (in_group / 128 * 4 + in_group % 4));
        }
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
