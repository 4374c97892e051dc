import { monitorEventLoopDelay } from 'node:perf_hooks'

/** Often enough for a delay of a quarter of a second to be seen several times a second. */
const RESOLUTION_MS = 20

/** Calls back every so often with the 99th percentile of how late the event loop was since the last time, in milliseconds. */
export function watchLoopDelay(
  deps: { readonly ticks: () => number },
  everyMs: number,
  onSample: (delayMs: number, ticks: number) => void,
): () => void {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  histogram.enable()
  let last = deps.ticks()
  const timer = setInterval(() => {
    const ticks = deps.ticks()
    // Where nothing was counted, the loop stood still, or the time is too short for it: how late this call is says which.
    const delayMs =
      histogram.count === 0 ? (ticks - last) / 1000 - everyMs : histogram.percentile(99) / 1e6 - RESOLUTION_MS
    last = ticks
    histogram.reset()
    onSample(Math.max(0, delayMs), ticks)
  }, everyMs).unref()
  return () => {
    clearInterval(timer)
    histogram.disable()
  }
}
