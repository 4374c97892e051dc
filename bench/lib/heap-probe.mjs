// Loaded into the server before it starts (`--import`): tells how full its heap is, after a collection when it is asked.
import { renameSync, writeFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')
const path = process.env.HEAP_PROBE_FILE
let peak = 0
let asked = 0

const look = () => {
  const { heapUsed, external } = process.memoryUsage()
  peak = Math.max(peak, heapUsed)
  return { heapUsed, external, peak, asked }
}
const tell = () => {
  writeFileSync(`${path}.new`, JSON.stringify(look()))
  renameSync(`${path}.new`, path)
}
process.on('SIGUSR2', () => {
  asked += 1
  collect()
  collect()
  tell()
})
setInterval(look, 20).unref()
