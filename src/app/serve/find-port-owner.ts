import { readdir, readFile, readlink } from 'node:fs/promises'

export interface PortOwner {
  readonly pid: number
  readonly name: string
}

const LISTENING = '0A'

/**
 * Who listens on a port, as far as the system tells: Linux lists sockets by inode, and a process's open files name the
 * inodes. Undefined elsewhere, and for processes of other users.
 */
export async function findPortOwner(port: number): Promise<PortOwner | undefined> {
  try {
    const inodes = new Set([...(await listeningInodes('tcp', port)), ...(await listeningInodes('tcp6', port))])
    if (inodes.size === 0) return undefined
    for (const entry of await readdir('/proc')) {
      if (/^\d+$/.test(entry) && (await holdsOneOf(entry, inodes))) {
        return { pid: Number(entry), name: (await readFile(`/proc/${entry}/comm`, 'utf8')).trim() }
      }
    }
    return undefined
  } catch {
    return undefined
  }
}

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
