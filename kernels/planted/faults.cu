// Kernels with one planted fault each, which a tool that looks for such faults should report. With `sound` set, a
// kernel does the same without its fault, and nothing should be reported. No product code is here; the stores between
// blocks are those that the top-k kernels use.
//
// All take `data` with one entry for each thread of the grid: 128 threads a block, one block or a cluster of two.
#include "cluster.cuh"

constexpr int THREADS = 128;

__device__ __forceinline__ uint32_t own_rank() {
    uint32_t rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
__device__ __forceinline__ void store_at(uint32_t address, int value) {
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}
__device__ __forceinline__ int load_at(uint32_t address) {
    int value;
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
    return value;
}
// Everyone of the cluster has come here, and what they wrote is seen.
__device__ __forceinline__ void cluster_barrier() {
    asm volatile("barrier.cluster.arrive.release.aligned;\n barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ __forceinline__ int own_entry() { return blockIdx.x * THREADS + threadIdx.x; }

// memcheck: the last thread writes past the end of `data`.
extern "C" __global__ void __launch_bounds__(THREADS) write_past_global(int* data, int sound) {
    data[own_entry() + !sound] = threadIdx.x;
}

// memcheck: each block writes 64 KB past the other's shared memory.
extern "C" __global__ void __launch_bounds__(THREADS) write_past_remote_shared(int* data, int sound) {
    __shared__ int own[THREADS];
    const uint32_t other = in_block(shared_address(own + threadIdx.x), own_rank() ^ 1);
    cluster_barrier();
    store_at(other + (sound ? 0 : 1 << 16), threadIdx.x);
    cluster_barrier();
    data[own_entry()] = own[threadIdx.x];
}

// racecheck: a warp reads what another warp of its block wrote, without a barrier in between.
extern "C" __global__ void __launch_bounds__(THREADS) race_in_block(int* data, int sound) {
    __shared__ volatile int own[THREADS];
    own[threadIdx.x] = threadIdx.x;
    if (sound) __syncthreads();
    data[own_entry()] = own[(threadIdx.x + 32) % THREADS];
}

// racecheck: each block reads what the other stored in its shared memory, without a barrier in between.
extern "C" __global__ void __launch_bounds__(THREADS) race_in_cluster(int* data, int sound) {
    __shared__ volatile int own[THREADS];
    const uint32_t other = in_block(shared_address(const_cast<int*>(own) + threadIdx.x), own_rank() ^ 1);
    cluster_barrier();
    store_at(other, threadIdx.x);
    if (sound) cluster_barrier();
    data[own_entry()] = own[threadIdx.x];
    cluster_barrier();
}

// racecheck: each block reads what the other pushed into its mailbox, without waiting for it.
extern "C" __global__ void __launch_bounds__(THREADS) missing_wait(int* data, int sound) {
    __shared__ volatile uint32_t own[THREADS];
    __shared__ Mailbox box;
    if (threadIdx.x == 0) {
        box.init();
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        box.expect(sizeof(own));
    }
    cluster_barrier();
    push(const_cast<uint32_t*>(own) + threadIdx.x, threadIdx.x, &box, own_rank() ^ 1);
    if (sound) box.wait(0);
    data[own_entry()] = own[threadIdx.x];
    box.wait(0);  // nobody leaves before all has come
    cluster_barrier();
}

// synccheck: half of a warp goes to a barrier for a second time, which the other half does not.
extern "C" __global__ void __launch_bounds__(THREADS) divergent_barrier(int* data, int sound) {
    const int times = sound || threadIdx.x % 32 < 16 ? 2 : 1;
#pragma unroll 1
    for (int i = 0; i < times; ++i) __syncthreads();
    data[own_entry()] = threadIdx.x;
}

// synccheck: the same as an instruction with a condition, without a branch.
extern "C" __global__ void __launch_bounds__(THREADS) predicated_barrier(int* data, int sound) {
    if (sound || threadIdx.x % 32 < 16) __syncthreads();
    data[own_entry()] = threadIdx.x;
}

// initcheck: reads `data`, into which nothing was written.
extern "C" __global__ void __launch_bounds__(THREADS) read_fresh_global(int* data, int sound) { ++data[own_entry()]; }

// initcheck: reads the other block's shared memory, into which nothing was written.
extern "C" __global__ void __launch_bounds__(THREADS) read_fresh_remote_shared(int* data, int sound) {
    __shared__ volatile int own[THREADS];
    if (sound) own[threadIdx.x] = threadIdx.x;
    cluster_barrier();
    data[own_entry()] = load_at(in_block(shared_address(const_cast<int*>(own) + threadIdx.x), own_rank() ^ 1));
    cluster_barrier();
}
