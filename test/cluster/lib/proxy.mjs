import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'

const SOCKET = '.s.PGSQL.5432'

/** A way to PostgreSQL of one node's own, which can be cut: bytes then wait on both sides, as behind a dead switch. */
export async function openProxy(host) {
  // Short, because the path of a socket has little more than a hundred characters.
  const folder = mkdtempSync('/tmp/millrace-way-')
  const pairs = new Set()
  let isCut = false
  const server = createServer((near) => {
    const far = connect(join(host, SOCKET))
    const pair = [near, far]
    pairs.add(pair)
    const end = () => {
      pairs.delete(pair)
      for (const socket of pair) socket.destroy()
    }
    for (const socket of pair) {
      socket.on('error', end)
      socket.on('close', end)
    }
    if (isCut) return
    near.pipe(far)
    far.pipe(near)
  })
  await new Promise((resolve) => server.listen(join(folder, SOCKET), resolve))
  server.unref()
  return {
    host: folder,
    cut() {
      isCut = true
      for (const [near, far] of pairs) {
        near.unpipe(far)
        far.unpipe(near)
        near.pause()
        far.pause()
      }
    },
    mend() {
      isCut = false
      for (const [near, far] of pairs) {
        near.pipe(far)
        far.pipe(near)
      }
    },
    close() {
      server.close()
      for (const pair of pairs) for (const socket of pair) socket.destroy()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
