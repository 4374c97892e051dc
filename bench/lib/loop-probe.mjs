// Loaded into the server before it starts (`--import`): tells the longest time that its main loop was blocked since it was last
// asked, and with what on its mind: the longest single turn, in milliseconds.
import { renameSync, writeFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

const path = process.env.LOOP_PROBE_FILE
if (path !== undefined && isMainThread) {
  let asked = 0
  let longest = 0
  let before = performance.now()
  const look = () => {
    const now = performance.now()
    longest = Math.max(longest, now - before)
    before = now
    setImmediate(look).unref()
  }
  // A timer keeps the loop turning; between its turns nothing is waited for.
  setInterval(() => {}, 1).unref()
  look()
  process.on('SIGUSR2', () => {
    asked += 1
    writeFileSync(`${path}.new`, JSON.stringify({ asked, longest }))
    renameSync(`${path}.new`, path)
    longest = 0
    before = performance.now()
  })
}
