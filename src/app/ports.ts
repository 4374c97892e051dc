import { readdir, readFile, readlink } from 'node:fs/promises'
import { createServer } from 'node:net'
import { type ListenOutcome, listenOn } from '../server/listener.ts'
import { isMillrace } from '../server/metrics-server.ts'

interface Address {
  readonly host: string
  readonly port: number
}

export type ListenFailure = Exclude<ListenOutcome['kind'], 'listening'>

/** Why the server cannot listen, with the key that names the port. */
export async function explainListenFailure(
  failure: ListenFailure,
  { host, port }: Address,
  key: 'server.port' | 'server.metrics_port',
): Promise<string> {
  switch (failure) {
    case 'address-in-use': {
      const [owner, isOurs] = await Promise.all([findPortOwner(port), isMillrace({ host, port })])
      const holder = isOurs
        ? `another Millrace${owner === undefined ? '' : `, ${owner}`}`
        : (owner ?? 'another process')
      return `Port ${port} (${key}) is taken by ${holder}.`
    }
    case 'address-not-available':
      return `${host} is not an address of this machine.`
    case 'not-permitted':
      return `This user may not listen on port ${port}.`
  }
}

/** Whether the server could listen there now. */
export async function tryPort(address: Address): Promise<ListenOutcome> {
  const server = createServer()
  const outcome = await listenOn(server, address)
  if (outcome.kind === 'listening') await new Promise((resolve) => server.close(resolve))
  return outcome
}

/**
 * The process that listens on a port: Linux lists sockets by inode, and the open files of a process name the inodes. Undefined on
 * other systems, and for processes of other users.
 */
async function findPortOwner(port: number): Promise<string | undefined> {
  try {
    const inodes = new Set([...(await listeningInodes('tcp', port)), ...(await listeningInodes('tcp6', port))])
    if (inodes.size === 0) return undefined
    for (const entry of await readdir('/proc')) {
      if (/^\d+$/.test(entry) && (await holdsOneOf(entry, inodes))) {
        return `pid ${entry} (${(await readFile(`/proc/${entry}/comm`, 'utf8')).trim()})`
      }
    }
    return undefined
  } catch {
    return undefined
  }
}

/** The state of a listening socket in `/proc/net/tcp`. */
const LISTENING = '0A'

async function listeningInodes(protocol: 'tcp' | 'tcp6', port: number): Promise<string[]> {
  const table = await readFile(`/proc/net/${protocol}`, 'utf8').catch(() => '')
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return table
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[1]?.endsWith(suffix) && fields[3] === LISTENING)
    .map((fields) => `socket:[${fields[9]}]`)
}

async function holdsOneOf(pid: string, inodes: ReadonlySet<string>): Promise<boolean> {
  const files = await readdir(`/proc/${pid}/fd`).catch(() => [])
  for (const file of files) {
    const target = await readlink(`/proc/${pid}/fd/${file}`).catch(() => '')
    if (inodes.has(target)) return true
  }
  return false
}
