// Loaded into a process with `--import`. Each SIGUSR2 takes the next step of a round: start sampling allocations, write the
// allocated bytes down, start counting calls, write the called functions down. The parent reads them from FOOTPRINT_FILE.
import { renameSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { Worker } from 'node:worker_threads'

const path = process.env.FOOTPRINT_FILE
/** V8 samples one allocation in about so many bytes, and scales the rest up. */
const SAMPLING_BYTES = 256

const session = new Session()
session.connect()

const STEPS = [
  () =>
    session.post('HeapProfiler.startSampling', {
      samplingInterval: SAMPLING_BYTES,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    }),
  allocatedBytes,
  startCounting,
  calledFunctions,
]

async function startCounting() {
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
}

async function calledFunctions() {
  const { result } = await session.post('Profiler.takePreciseCoverage')
  await session.post('Profiler.stopPreciseCoverage')
  const called = result.flatMap(({ url, functions }) =>
    functions
      .filter(({ ranges: [whole] }) => whole.count > 0)
      .map(({ functionName, ranges: [whole] }) => ({ url, name: functionName, at: whole.startOffset })),
  )
  return { called }
}

async function allocatedBytes() {
  const { profile } = await session.post('HeapProfiler.stopSampling')
  const sum = ({ selfSize, children }) => children.reduce((total, child) => total + sum(child), selfSize)
  return { allocated: sum(profile.head) }
}

/** What the main thread and the threads of the databases exchange: requests, and how many rows those have changed. */
let messages = 0
let rows = 0
const { postMessage, emit } = Worker.prototype
Worker.prototype.postMessage = function count(...args) {
  messages += 1
  return postMessage.apply(this, args)
}
Worker.prototype.emit = function countRows(name, reply, ...args) {
  if (name === 'message' && Array.isArray(reply?.value))
    for (const changed of reply.value) if (typeof changed === 'number') rows += changed
  return emit.call(this, name, reply, ...args)
}

let step = 0
process.on('SIGUSR2', async () => {
  const result = await STEPS[step % STEPS.length]()
  step += 1
  writeFileSync(`${path}.new`, JSON.stringify({ step, messages, rows, ...result }))
  renameSync(`${path}.new`, path)
})
