import { formatUsd, type NanoUsd } from '../model/money.ts'
import type { Price } from '../model/price.ts'
import type { TurnRequest } from '../model/turn.ts'
import type { MeteredUsage } from '../model/usage.ts'
import { writeUsage } from '../wire/chat/write-usage.ts'
import { spliceMembers } from '../wire/json/splice-members.ts'
import { DONE_FRAME, dataFrame } from '../wire/sse/format-frame.ts'
import type { FinishedAnswer } from './run.ts'

/** What the end of an answer tells about money; known only once the settle is durable. */
export interface SettledCharge {
  readonly usage: MeteredUsage
  readonly charge: NanoUsd
  readonly tier: number
  readonly price: Price
}

/** The last bytes of an answer: the usage chunk and `[DONE]`, or the JSON body. They say that it is complete. */
export function closingBytes(turn: TurnRequest, answer: FinishedAnswer, settled: SettledCharge): Buffer {
  const usage = writeUsage(settled.usage, {
    charge: formatUsd(settled.charge),
    currency: 'USD',
    tier: settled.tier,
    price_version: settled.price.version,
  })
  if (answer.kind === 'json') {
    return spliceMembers(
      answer.body,
      new Map([
        ...answer.rewritten,
        ['model', Buffer.from(JSON.stringify(turn.model))],
        ['usage', Buffer.from(JSON.stringify(usage))],
      ]),
    )
  }
  const chunk =
    turn.protocol === 'chat' && turn.wantsUsage ? dataFrame(usageChunk(turn, answer.head, usage)) : Buffer.alloc(0)
  return Buffer.concat([answer.unsent, chunk, DONE_FRAME])
}

function usageChunk(turn: TurnRequest, head: Extract<FinishedAnswer, { kind: 'stream' }>['head'], usage: unknown) {
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
