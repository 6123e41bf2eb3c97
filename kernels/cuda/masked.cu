// Top-k of masked rows. F gathers a row's candidate blocks and selects among them in one launch; its reference is a pair
// of small kernels that set every other column to -inf, and a selection over the whole row.
//
// A candidate id names a block of eight columns. Ids come in any order; duplicates count once and negative ids are
// padding. An id past the last column keeps the last column alone, as the served mask does, which clamps columns.
#include "kernel.cuh"

struct masked_topk_arguments {
    const void* scores;       // [rows, stride]
    long long stride;
    const int* lengths;       // [rows]
    int* indices;             // [rows, out_stride]
    long long out_stride;
    int k;
    int columns;
    const int* candidates;    // [rows, candidate_stride]
    long long candidate_stride;
    int candidate_count;
};

// Reads a row's candidate ids: a bit for each kept block below `length`, and whether an id is past the last block.
template <int NT>
__device__ __forceinline__ void read_candidates(const masked_topk_arguments& a, int row, int length, uint32_t* bits, int words,
                                                uint32_t* outside) {
    for (int i = threadIdx.x; i < words; i += NT) bits[i] = 0;
    if (threadIdx.x == 0) *outside = 0;
    __syncthreads();
    const int blocks = (a.columns + BLOCK - 1) / BLOCK, live = (length + BLOCK - 1) / BLOCK;
    for (int i = threadIdx.x; i < a.candidate_count; i += NT) {
        const int id = __ldg(a.candidates + row * a.candidate_stride + i);
        if (id >= 0 && id < live) atomicOr(&bits[id / 32], 1u << (id % 32));
        if (id >= blocks) *outside = 1;
    }
    __syncthreads();
}

// Writes the ids of set bits, ascending, and returns their number.
template <int NT>
__device__ __forceinline__ int list_blocks(const uint32_t* bits, int words, int* blocks, uint32_t* of_warps) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int each = (words + NT - 1) / NT, from = threadIdx.x * each, until = min(words, from + each);
    uint32_t own = 0;
    for (int i = from; i < until; ++i) own += __popc(bits[i]);
    const uint32_t sum = inclusive_sum(own);
    if (lane == 31) of_warps[warp] = sum;
    __syncthreads();
    const uint32_t of_lane = lane < NT / 32 ? of_warps[lane] : 0;
    uint32_t place = __reduce_add_sync(ALL, lane < warp ? of_lane : 0) + sum - own;
    const int count = __reduce_add_sync(ALL, of_lane);
    for (int i = from; i < until; ++i)
        for (uint32_t rest = bits[i]; rest; rest &= rest - 1) blocks[place++] = i * 32 + __ffs(rest) - 1;
    __syncthreads();
    return count;
}

template <class T, Order O, int CS, int NT, int V>
__device__ __forceinline__ void masked_topk(const masked_topk_arguments& a) {
    extern __shared__ __align__(16) unsigned char memory[];
    Shared<CS>& s = *reinterpret_cast<Shared<CS>*>(memory);
    const int bit_words = (a.columns + 32 * BLOCK - 1) / (32 * BLOCK);
    uint32_t* bits = reinterpret_cast<uint32_t*>(memory + sizeof(s));
    int* blocks = reinterpret_cast<int*>(bits + bit_words);
    uint32_t* words = reinterpret_cast<uint32_t*>(blocks + min(a.candidate_count, (a.columns + BLOCK - 1) / BLOCK));
    const uint32_t rank = blockIdx.x % CS;
    const int row = blockIdx.x / CS;
    int* out = a.indices + row * a.out_stride;

    open_mailboxes<CS>(s);
    const int length = min(max(__ldg(a.lengths + row), 0), a.columns);
    if (length <= a.k) {
        if (rank == 0) write_all<NT>(out, a.k, length);
        if constexpr (CS > 1) cluster_wait();
        return;
    }
    read_candidates<NT>(a, row, length, bits, bit_words, &s.list_size);
    const bool outside = s.list_size;
    const int count = list_blocks<NT>(bits, bit_words, blocks, s.of_warp);
    const int in_last = length % BLOCK, last_block = (a.columns - 1) / BLOCK;
    int gathered = count * BLOCK;
    if (in_last && (bits[length / BLOCK / 32] >> (length / BLOCK % 32) & 1)) gathered -= BLOCK - in_last;
    const bool last_alone = outside && length == a.columns && !(bits[last_block / 32] >> (last_block % 32) & 1);

    const PlainRow<T> plain(a.scores, row * a.stride);
    Uses uses;
    bool waited = CS == 1;
    auto ready = [&] {
        if (!waited) cluster_wait(), waited = true;
    };
    // With K kept scores above -inf, no column that the mask hides can be among the best.
    if (gathered > a.k && !last_alone) {
        Selection<GatheredRow<T>, O, CS, NT, V> selection(s, words, {plain, blocks}, rank);
        selection.load(gathered);
        selection.clear(uses.rounds);
        selection.settle(gathered, gathered);
        __syncthreads();
        const Found found = selection.find(a.k, uses, ready);
        if (found.threshold.key > KEY_OF_NEGATIVE_INFINITY) {
            selection.emit(found, out, [&](uint32_t index) { return selection.part.row.column(index); });
            return;
        }
        // The next round's counts must not come while a block still waits for the last one's.
        if constexpr (CS > 1) cluster_arrive(), cluster_wait();
        __syncthreads();
    }
    // Otherwise hidden columns count as -inf, each at its own index: the whole row is read.
    Selection<MaskedRow<T>, O, CS, NT, 0> selection(s, words, {plain, bits, last_alone ? a.columns - 1 : -1, plain.head}, rank);
    selection.clear(uses.rounds);
    selection.settle(length, length);
    __syncthreads();
    const Found found = selection.find(a.k, uses, ready);
    selection.emit(found, out, [](uint32_t index) { return static_cast<int>(index); });
}

#define KERNELS(CS, NT, V) KERNELS_OF(masked_topk, CS, NT, V)

SHAPES  // KERNELS(cluster, threads, vectors) …: build.py says which

// The reference of F, first kernel: flags[row][column] = 1 where the mask keeps a column. One block a row.
extern "C" __global__ void candidate_flags(const masked_topk_arguments a, unsigned char* flags) {
    const int row = blockIdx.x;
    unsigned char* own = flags + static_cast<long long>(row) * a.columns;
    for (int i = threadIdx.x; i < a.columns; i += blockDim.x) own[i] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < a.candidate_count; i += blockDim.x) {
        const int id = a.candidates[row * a.candidate_stride + i];
        if (id < 0) continue;
        for (int j = 0; j < BLOCK; ++j) own[min(static_cast<long long>(id) * BLOCK + j, a.columns - 1ll)] = 1;
    }
}

// The reference of F, second kernel: columns without a flag become -inf, in place.
template <class Bits>
__device__ __forceinline__ void mask_candidates(const masked_topk_arguments& a, const unsigned char* flags, Bits negative_infinity) {
    const int row = blockIdx.y;
    Bits* own = const_cast<Bits*>(static_cast<const Bits*>(a.scores)) + row * a.stride;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < a.columns; i += gridDim.x * blockDim.x)
        if (!flags[static_cast<long long>(row) * a.columns + i]) own[i] = negative_infinity;
}
extern "C" __global__ void mask_candidates_float32(const masked_topk_arguments a, const unsigned char* flags) {
    mask_candidates<uint32_t>(a, flags, 0xff800000u);
}
extern "C" __global__ void mask_candidates_bfloat16(const masked_topk_arguments a, const unsigned char* flags) {
    mask_candidates<uint16_t>(a, flags, static_cast<uint16_t>(0xff80u));
}
