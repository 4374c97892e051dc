import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus, release } from 'node:os'

/** Says where a figure was made: without it a figure means nothing. */
export function describeMachine() {
  const [cpu] = cpus()
  return `node ${process.versions.node}, ${cpus().length} × ${cpu?.model.trim() ?? 'cpu'}, ${process.platform} ${release()}, commit ${commit()}`
}

function commit() {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch {
    return 'unknown'
  }
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]
}

/** User and system time of a process, all its threads included, in ticks of a hundredth of a second. */
export function cpuMicros(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10_000
}
