import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** The kernel's own limit is 108 bytes on Linux and 104 on macOS, and Node 20 cuts longer ones off without a word. */
const PATH_BYTES_MAX = 100

export interface SocketPlace {
  readonly path: string
  /** Removes the folder that was made for it, if any. */
  remove(): Promise<void>
}

/** `admin.sock` in the data folder; where that path is too long, a hashed name in a folder of mode 0700 of its own. */
export async function placeAdminSocket(data: string): Promise<SocketPlace> {
  const path = join(data, 'admin.sock')
  if (Buffer.byteLength(path) <= PATH_BYTES_MAX) return { path, remove: async () => {} }
  // mkdtemp makes a folder that nobody else could have prepared, and makes it 0700.
  const folder = await mkdtemp(join(tmpdir(), 'millrace-'))
  const name = createHash('sha256').update(path).digest('hex').slice(0, 16)
  return { path: join(folder, `${name}.sock`), remove: () => rm(folder, { recursive: true, force: true }) }
}

/** What a server that was killed left behind outside its data folder. */
export async function removeStaleSocket(data: string, socket: string): Promise<void> {
  const folder = dirname(socket)
  const ours = dirname(folder) === tmpdir() && /^millrace-[A-Za-z0-9]{6}$/.test(folder.slice(tmpdir().length + 1))
  if (ours && folder !== data) await rm(folder, { recursive: true, force: true })
}
