/**
 * Calls back when the event loop has looked at its sockets once. After the process was stopped for a while, timers fire before
 * anything is read: what has arrived meanwhile is read by then.
 */
export function afterLoopTurn(then: () => void): () => void {
  // The first setImmediate may run before the loop looks at its sockets, the second runs after it.
  let immediate = setImmediate(() => {
    immediate = setImmediate(then)
  })
  return () => clearImmediate(immediate)
}
