import { readFileSync } from 'node:fs'

const PSS = /^Pss:\s+(\d+) kB/m
const RSS = /^VmRSS:\s+(\d+) kB/m

/** The memory of a process in MB: its share of every page (Pss), or where the kernel does not tell it, its pages (RSS). */
export function memoryMb(pid) {
  const pss = read(`/proc/${pid}/smaps_rollup`, PSS)
  return (pss ?? read(`/proc/${pid}/status`, RSS) ?? Number.NaN) / 1000
}

function read(file, pattern) {
  try {
    const [, kilobytes] = pattern.exec(readFileSync(file, 'utf8')) ?? []
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1.024
  } catch {
    return undefined
  }
}
