/** Milliseconds of CLOCK_MONOTONIC: the clock by which record-writes.c tells the time. */
export const nowMs = () => Number(process.hrtime.bigint()) / 1e6
