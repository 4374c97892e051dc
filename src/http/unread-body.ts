import type { Exchange } from './exchange.ts'

/** How much of the request's body has not arrived here: 0 for none, infinite where only the end will tell. */
export function unreadBodyBytes({ request, bodyBytesRead }: Exchange): number {
  if (request.complete) return 0
  if (request.headers['transfer-encoding'] !== undefined) return Number.POSITIVE_INFINITY
  const length = Number(request.headers['content-length'] ?? 0)
  return Math.max(0, length - bodyBytesRead)
}
