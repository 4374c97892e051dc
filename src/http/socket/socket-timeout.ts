import type { Socket } from 'node:net'
import { afterLoopTurn } from '../../lib/loop-turn.ts'
import { connectionOf } from './connection.ts'

/**
 * Nothing has moved on this socket for as long as a client may take nothing of its answer, or as an idle connection is kept.
 * Node counts each byte that the kernel takes, so whoever reads slowly is not taken for one that does not read. After the
 * process was stopped the timer fires before the loop has looked at the socket: whether anything moves then is what counts.
 */
export function onSocketTimeout(socket: Socket): void {
  if (!isStalled(socket)) return
  const { bytesRead, writableLength } = socket
  afterLoopTurn(() => {
    const hasMoved = socket.bytesRead !== bytesRead || socket.writableLength !== writableLength
    if (!hasMoved && isStalled(socket)) socket.destroy()
  })
}

function isStalled(socket: Socket): boolean {
  const { openExchanges, newestBody } = connectionOf(socket)
  // How long the first headers may take is counted for itself, and said.
  if (newestBody === undefined) return false
  const isThoughtAbout = openExchanges > 0 && socket.writableLength === 0
  return !isThoughtAbout
}
