import { formatUsd } from '../../model/money.ts'
import type { SettledCharge } from '../../model/settled-charge.ts'
import type { ChatRequest, RequestBody } from '../../model/turn.ts'
import { spliceMembers } from '../json/splice-members.ts'
import { DONE_FRAME, dataFrame } from '../sse/format-frame.ts'
import { writeUsage } from './write-usage.ts'

/** What the usage chunk repeats of the stream before it. */
export interface StreamHead {
  readonly id: unknown
  readonly created: unknown
  readonly systemFingerprint: unknown
}

/** The last bytes of a stream: the usage chunk, if the client asked for it, and `[DONE]`. */
export function closingOfStream(turn: ChatRequest, head: StreamHead | undefined, settled: SettledCharge): Buffer {
  if (!turn.wantsUsage) return DONE_FRAME
  return Buffer.concat([dataFrame(usageChunk(turn, head, usageOf(settled))), DONE_FRAME])
}

/** The JSON body: the provider's own bytes, with the members that are ours. */
export function closingOfReply(
  body: RequestBody,
  rewritten: ReadonlyMap<string, Buffer>,
  turn: ChatRequest,
  settled: SettledCharge,
): Buffer {
  return spliceMembers(
    body,
    new Map([
      ...rewritten,
      ['model', Buffer.from(JSON.stringify(turn.model))],
      ['usage', Buffer.from(JSON.stringify(usageOf(settled)))],
    ]),
  )
}

export const usageOf = ({ usage, charge, tier, price }: SettledCharge): Record<string, unknown> =>
  writeUsage(usage, { charge: formatUsd(charge), currency: 'USD', tier, price_version: price.version })

function usageChunk(turn: ChatRequest, head: StreamHead | undefined, usage: unknown) {
  return {
    id: head?.id,
    object: 'chat.completion.chunk',
    created: head?.created,
    model: turn.model,
    ...(head?.systemFingerprint === undefined ? {} : { system_fingerprint: head.systemFingerprint }),
    choices: [],
    usage,
  }
}
