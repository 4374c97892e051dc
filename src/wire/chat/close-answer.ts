import type { SettledCharge } from '../../model/ending.ts'
import type { ChatRequest, RequestBody } from '../../model/turn.ts'
import { spliceMembers } from '../json/splice-members.ts'
import { DONE_FRAME, dataFrame } from '../sse/frame-data.ts'
import { writeUsage } from './write-usage.ts'

/** What every chunk of a stream says of it. */
export interface StreamHead {
  readonly id: unknown
  readonly created: unknown
  readonly systemFingerprint: unknown
}

/** What the end has to know of the request: its model by the name that the client has for it. */
type ClosedRequest = Pick<ChatRequest, 'model' | 'wantsUsage'>

/** The end of a stream: the usage chunk for whoever asked for it, and `[DONE]`. */
export function closingOfStream(request: ClosedRequest, head: StreamHead | undefined, settled: SettledCharge): Buffer {
  if (!request.wantsUsage) return DONE_FRAME
  const chunk = {
    id: head?.id,
    object: 'chat.completion.chunk',
    created: head?.created,
    model: request.model,
    ...(head?.systemFingerprint === undefined ? {} : { system_fingerprint: head.systemFingerprint }),
    choices: [],
    usage: writeUsage(settled),
  }
  return Buffer.concat([dataFrame(chunk), DONE_FRAME])
}

/** A provider's JSON answer with the client's name for the model, and what it cost; the rest is its own bytes. */
export function closingOfReply(
  body: RequestBody,
  rewritten: ReadonlyMap<string, Buffer>,
  request: Pick<ClosedRequest, 'model'>,
  settled: SettledCharge,
): Buffer {
  const changes = new Map([
    ...rewritten,
    ['model', Buffer.from(JSON.stringify(request.model))],
    ['usage', Buffer.from(JSON.stringify(writeUsage(settled)))],
  ])
  return spliceMembers(body, changes)
}
