/** The windows of this console. A provider's pages cut the tie between a window and its opener, so a message goes to all. */
const NAME = 'millrace-confirmed'

export function announceConfirmation(): void {
  const channel = new BroadcastChannel(NAME)
  channel.postMessage('confirmed')
  channel.close()
}

/** Calls back when a window has confirmed. Returns how to stop. */
export function onConfirmation(callback: () => void): () => void {
  const channel = new BroadcastChannel(NAME)
  channel.onmessage = callback
  return () => channel.close()
}
