// Where a row's scores come from. A source gives bit patterns of float32, one or four at a time, by position; entries
// are those at positions [head, head + length), in index order.
//
// In a plain row a position counts scores from a 16-byte (bfloat16: 8-byte) boundary at or before the row, so that a
// vector of four is one aligned load; a row that starts elsewhere has its first entries at positions 1 to 3.
#pragma once
#include <cstdint>

struct Vector {
    uint32_t bits[4];
};

// A row in memory: float32, or bfloat16 widened to the float32 with the same upper half.
struct bfloat16;

template <class T>
struct PlainRow;

template <>
struct PlainRow<float> {
    const uint32_t* base;  // position 0
    int head;              // position of the row's first score

    __device__ __forceinline__ PlainRow(const void* scores, long long offset) {
        const uint32_t* row = static_cast<const uint32_t*>(scores) + offset;
        head = static_cast<int>(reinterpret_cast<uintptr_t>(row) / 4 & 3);
        base = row - head;
    }
    __device__ __forceinline__ int column(int position) const { return position - head; }
    __device__ __forceinline__ uint32_t one(int position) const { return __ldg(base + position); }
    __device__ __forceinline__ Vector four(int position) const {
        const uint4 q = __ldg(reinterpret_cast<const uint4*>(base + position));
        return {{q.x, q.y, q.z, q.w}};
    }
};

template <>
struct PlainRow<bfloat16> {
    const uint16_t* base;
    int head;

    __device__ __forceinline__ PlainRow(const void* scores, long long offset) {
        const uint16_t* row = static_cast<const uint16_t*>(scores) + offset;
        head = static_cast<int>(reinterpret_cast<uintptr_t>(row) / 2 & 3);
        base = row - head;
    }
    __device__ __forceinline__ int column(int position) const { return position - head; }
    __device__ __forceinline__ uint32_t one(int position) const { return static_cast<uint32_t>(__ldg(base + position)) << 16; }
    __device__ __forceinline__ Vector four(int position) const {
        const uint2 q = __ldg(reinterpret_cast<const uint2*>(base + position));
        return {{q.x << 16, q.x & 0xffff0000u, q.y << 16, q.y & 0xffff0000u}};
    }
};

// Which columns of a row a mask keeps: blocks of eight, and perhaps the last column by itself.
constexpr int BLOCK = 8;

// A row's kept blocks one after another, as if they were a row of their own.
template <class T>
struct GatheredRow {
    PlainRow<T> plain;
    const int* blocks;  // ids, ascending
    static constexpr int head = 0;

    __device__ __forceinline__ int column(int position) const { return blocks[position / BLOCK] * BLOCK + position % BLOCK; }
    __device__ __forceinline__ uint32_t one(int position) const { return plain.one(plain.head + column(position)); }
    __device__ __forceinline__ Vector four(int position) const {
        const int at = plain.head + column(position);
        if (at % 4 == 0) return plain.four(at);
        return {{plain.one(at), plain.one(at + 1), plain.one(at + 2), plain.one(at + 3)}};
    }
};

// A whole row in which every column that the mask does not keep counts as -inf.
template <class T>
struct MaskedRow {
    PlainRow<T> plain;
    const uint32_t* kept;  // a bit a block
    int last;              // a column that is kept although its block is not, or -1
    int head;

    __device__ __forceinline__ int column(int position) const { return position - head; }
    __device__ __forceinline__ bool keeps(int column) const { return kept[column / BLOCK / 32] >> (column / BLOCK % 32) & 1; }
    __device__ __forceinline__ uint32_t one(int position) const {
        const int at = column(position);
        return keeps(at) || at == last ? plain.one(position) : 0xff800000u;
    }
    __device__ __forceinline__ Vector four(int position) const {
        const int at = column(position);
        if (at % BLOCK > BLOCK - 4 || static_cast<uint32_t>(last - at) < 4)  // two blocks, or the last column
            return {{one(position), one(position + 1), one(position + 2), one(position + 3)}};
        if (keeps(at)) return plain.four(position);
        return {{0xff800000u, 0xff800000u, 0xff800000u, 0xff800000u}};
    }
};

// The four scores at `position`, of which only those in [from, to) are read; the rest are 0.
template <class Row>
__device__ __forceinline__ Vector four_within(const Row& row, int position, int from, int to) {
    if (position >= from && position + 4 <= to) return row.four(position);
    Vector v{};
#pragma unroll
    for (int j = 0; j < 4; ++j)
        if (position + j >= from && position + j < to) v.bits[j] = row.one(position + j);
    return v;
}

// Which of the four positions from `position` up lie in [from, to), as bits.
__device__ __forceinline__ uint32_t within(int position, int from, int to) {
    const uint32_t below = to - position >= 4 ? 15u : to <= position ? 0u : (1u << (to - position)) - 1;
    return from <= position ? below : from - position >= 4 ? 0u : below & (15u << (from - position));
}
