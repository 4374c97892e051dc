import { readFileSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { totalmem, userInfo } from 'node:os'
import type { Config } from '../../config/config.ts'
import type { Clock } from '../../lib/clock.ts'
import { type Found, found } from './faults.ts'

/** What the doctor reads of the machine. Undefined: this system does not say. */
export interface Machine {
  readonly node: string
  /** The effective user. */
  readonly uid: number | undefined
  readonly user: string | undefined
  readonly openFilesMax: number | undefined
  /** Of the container or the machine. */
  readonly memoryBytes: number
  readonly now: () => number
  freeBytes(path: string): Promise<number | undefined>
}

export const thisMachine = (clock: Clock): Machine => ({
  node: process.versions.node,
  uid: process.geteuid?.(),
  user: nameOfUser(),
  openFilesMax: readOpenFilesMax(),
  memoryBytes: Math.min(process.constrainedMemory?.() || Number.POSITIVE_INFINITY, totalmem()),
  now: () => clock.now(),
  async freeBytes(path) {
    const disk = await statfs(path).catch(() => undefined)
    return disk && disk.bavail * disk.bsize
  },
})

/** A container may run as a user without a name. */
function nameOfUser(): string | undefined {
  try {
    return userInfo().username
  } catch {
    return undefined
  }
}

function readOpenFilesMax(): number | undefined {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}

const NODE_MIN = [20, 19] as const

export function examineNode({ node }: Machine): Found[] {
  const [major = 0, minor = 0] = node.split('.').map(Number)
  if (major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1])) return []
  return [found('node-too-old', `This is Node ${node}.`)]
}

/** Files beside connections: databases, logs, connections to providers. */
const OTHER_FILES = 64

export function examineLimits({ openFilesMax, memoryBytes }: Machine, { server, overload }: Config): Found[] {
  const files = server.maxConnections + OTHER_FILES
  const budget = (overload.memoryBytes ?? 0) * server.workers
  const mebibytes = (bytes: number) => `${Math.floor(bytes / 1024 ** 2)} MiB`
  return [
    ...(openFilesMax !== undefined && openFilesMax < files
      ? [
          found(
            'too-few-open-files',
            `This user may open ${openFilesMax} files, and server.max_connections is ${server.maxConnections}.`,
            `Raise the limit to ${files} (ulimit -n, LimitNOFILE= of systemd), or lower server.max_connections.`,
          ),
        ]
      : []),
    ...(budget > memoryBytes
      ? [
          found(
            'memory-budget-too-large',
            `overload.memory_budget of all workers is ${mebibytes(budget)}, and there are ${mebibytes(memoryBytes)} of memory.`,
          ),
        ]
      : []),
  ]
}
