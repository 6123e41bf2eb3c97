// What a thread block cluster needs beyond one block: addresses in another block's shared memory,
// stores there that announce themselves on a barrier, and the wait for them (PTX ISA, st.async and mbarrier).
#pragma once
#include <cstdint>

__device__ __forceinline__ uint32_t shared_address(const void* p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// How much dynamic shared memory the launch gave.
__device__ __forceinline__ uint32_t dynamic_shared_bytes() {
    uint32_t bytes;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
    return bytes;
}

// The same shared address in block `rank` of the cluster.
__device__ __forceinline__ uint32_t in_block(uint32_t address, uint32_t rank) {
    uint32_t mapped;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
    return mapped;
}

// A barrier whose phase ends once one thread has said how many bytes to expect and they have arrived.
struct Mailbox {
    unsigned long long barrier;

    __device__ __forceinline__ void init() {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&barrier)) : "memory");
    }
    __device__ __forceinline__ void expect(uint32_t bytes) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)), "r"(bytes)
                     : "memory");
    }
    __device__ __forceinline__ void wait(uint32_t parity) {
        uint32_t done;
        do {
            asm volatile(
                "{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;"
                " selp.u32 %0, 1, 0, p; }"
                : "=r"(done)
                : "r"(shared_address(&barrier)), "r"(parity)
                : "memory");
        } while (!done);
    }
};

// Stores of 4, 8 and 16 bytes into block `rank`, counted by that block's mailbox.
__device__ __forceinline__ void push(uint32_t* to, uint32_t value, Mailbox* box, uint32_t rank) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(
                     in_block(shared_address(to), rank)),
                 "r"(value), "r"(in_block(shared_address(&box->barrier), rank))
                 : "memory");
}
__device__ __forceinline__ void push(uint64_t* to, uint64_t value, Mailbox* box, uint32_t rank) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u64 [%0], %1, [%2];" ::"r"(
                     in_block(shared_address(to), rank)),
                 "l"(value), "r"(in_block(shared_address(&box->barrier), rank))
                 : "memory");
}
__device__ __forceinline__ void push(uint4* to, uint4 v, Mailbox* box, uint32_t rank) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
                     in_block(shared_address(to), rank)),
                 "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w), "r"(in_block(shared_address(&box->barrier), rank))
                 : "memory");
}

// A barrier over the cluster in two halves; what stands between them overlaps with the others' arrival.
__device__ __forceinline__ void cluster_arrive() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
