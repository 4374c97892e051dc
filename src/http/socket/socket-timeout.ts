import type { Socket } from 'node:net'
import { connectionOf } from './connection.ts'

/**
 * Nothing has moved on this socket for as long as a client may take nothing of its answer, or as an idle connection is kept.
 * Node counts each byte that the kernel takes, so whoever reads slowly is not taken for one that does not read.
 */
export function onSocketTimeout(socket: Socket): void {
  const { openExchanges, newestBody } = connectionOf(socket)
  // How long the first headers may take is counted for itself, and said.
  if (newestBody === undefined) return
  const isThoughtAbout = openExchanges > 0 && socket.writableLength === 0
  if (!isThoughtAbout) socket.destroy()
}
