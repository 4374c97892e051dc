import type { Exchange } from '../exchange.ts'
import { onAnswerOver } from './answer-over.ts'

/** What a stream waits for; while that is nothing, its silence is not the model's. */
export type Awaited = 'first-event' | 'next-event' | 'nothing'

export interface StreamSilence {
  /** Something was written, or the client has taken what there was: silence begins anew. */
  broken(): void
}

/**
 * Counts the beats in which nothing goes out on a stream: a comment breaks the silence of a model that thinks. Ends by
 * itself when the answer is over.
 */
export function watchSilence(
  exchange: Exchange,
  deps: { readonly awaited: () => Awaited; readonly comment: () => void },
): StreamSilence {
  const { edge } = exchange
  const { headDelayMs, keepAliveMs } = edge.options.stream
  const beatsIn = (ms: number) => Math.max(1, Math.ceil(ms / edge.heartbeat.beatMs))
  const firstMax = beatsIn(headDelayMs)
  const nextMax = beatsIn(keepAliveMs)
  let beats = 0

  const stop = edge.heartbeat.listen(() => {
    const awaited = deps.awaited()
    if (awaited === 'nothing') return
    beats += 1
    if (beats >= (awaited === 'first-event' ? firstMax : nextMax)) deps.comment()
  })
  onAnswerOver(exchange, stop)

  return {
    broken() {
      beats = 0
    },
  }
}
