import { execFileSync } from 'node:child_process'
import { cpus } from 'node:os'

const CORES = { server: 1, others: 0 }

/** Puts the server on one core and everybody else on another. Says what it did: figures without it are others. */
export function pin({ server, others }) {
  // Not `availableParallelism`: this process may be pinned already.
  if (cpus().length < 2) return 'not pinned: the machine has one core'
  try {
    put(server, CORES.server)
    for (const pid of others) put(pid, CORES.others)
    return `server on core ${CORES.server}, provider and clients on core ${CORES.others}`
  } catch {
    return 'NOT PINNED (no taskset): clients and server took from each other, and the figures are softer than they look'
  }
}

/** All threads that there are; those to come take after them. */
function put(pid, core) {
  execFileSync('taskset', ['-acp', String(core), String(pid)], { stdio: 'ignore' })
}
