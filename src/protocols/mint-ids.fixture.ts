import type { MintIds } from './shared/event-reader.ts'

/** Ids that a test can foresee: each kind counts by itself. */
export function countedIds(): MintIds {
  const counts = new Map<string, number>()
  const next = (prefix: string): string => {
    const count = (counts.get(prefix) ?? 0) + 1
    counts.set(prefix, count)
    return `${prefix}${count}`
  }
  return {
    completionId: () => next('chatcmpl-'),
    responseId: () => next('resp_'),
    callId: () => next('call_'),
    itemId: (prefix) => next(`${prefix}_`),
  }
}
