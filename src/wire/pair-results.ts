import type { ConversationItem } from '../model/conversation.ts'

export type CallItem = Extract<ConversationItem, { type: 'tool-call' }>
export type ResultItem = Extract<ConversationItem, { type: 'tool-result' }>

export interface PairedResults {
  /** Which result belongs to which call. */
  readonly byCall: ReadonlyMap<CallItem, ResultItem>
  /** Results that no call asked for. */
  readonly orphans: ReadonlySet<ResultItem>
}

/**
 * Finds each call's result, wherever it stands. Of several the last one counts: clients send a result again when they retry.
 * Some providers give the same id to calls of different turns; a result then belongs to the last of them before it.
 */
export function pairResults(items: readonly ConversationItem[]): PairedResults {
  const byCall = new Map<CallItem, ResultItem>()
  const lastCall = new Map<string, CallItem>()
  const early = new Map<string, ResultItem>()
  for (const item of items) {
    if (item.type === 'tool-call') {
      lastCall.set(item.callId, item)
      const result = early.get(item.callId)
      if (result) byCall.set(item, result)
      early.delete(item.callId)
    } else if (item.type === 'tool-result') {
      const call = lastCall.get(item.callId)
      if (call) byCall.set(call, item)
      else early.set(item.callId, item)
    }
  }
  return { byCall, orphans: new Set(early.values()) }
}
