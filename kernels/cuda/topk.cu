// Top-k of whole rows: one block a row (served_topk), or a cluster of blocks a row (rs8 and the others).
//
// Every kernel here gives the same bytes: the columns of a row's K best scores, ascending, then -1. What differs is the
// type of score, the order, and the shape, which KERNELS names: blocks of a cluster, threads of a block, and vectors
// of four scores that a thread keeps (0: none is kept, the row is read again at every pass).
#include "kernel.cuh"

struct topk_arguments {
    const void* scores;    // [rows, stride]; of a row, the first `columns` are read at most, the first `length` count
    long long stride;      // scores from row to row
    const int* lengths;    // [rows]; below 0 counts as 0
    int* indices;          // [rows, out_stride], K of a row written
    long long out_stride;
    int k;
    int columns;
};

template <class T, Order O, int CS, int NT, int V>
__device__ __forceinline__ void topk(const topk_arguments& a) {
    extern __shared__ __align__(16) unsigned char memory[];
    Shared<CS>& s = *reinterpret_cast<Shared<CS>*>(memory);
    const uint32_t rank = blockIdx.x % CS;
    const int row = blockIdx.x / CS;
    int* out = a.indices + row * a.out_stride;

    const int length_read = __ldg(a.lengths + row);
    Selection<PlainRow<T>, O, CS, NT, V> selection(s, reinterpret_cast<uint32_t*>(memory + sizeof(s)),
                                                   PlainRow<T>(a.scores, row * a.stride), rank);
    selection.load(a.columns);
    open_mailboxes<CS>(s);
    selection.clear(0);
    const int length = min(max(length_read, 0), a.columns);
    if (__builtin_expect(length <= a.k, 0)) {
        if (rank == 0) write_all<NT>(out, a.k, length);
        if constexpr (CS > 1) cluster_wait();
        return;
    }
    selection.settle(length, a.columns);
    __syncthreads();
    Uses uses;
    const Found found = selection.find(a.k, uses, [] {
        if constexpr (CS > 1) cluster_wait();
    });
    selection.emit(found, out, [](uint32_t index) { return static_cast<int>(index); });
}

#define KERNELS(CS, NT, V) KERNELS_OF(topk, CS, NT, V)

SHAPES  // KERNELS(cluster, threads, vectors) …: build.py says which
