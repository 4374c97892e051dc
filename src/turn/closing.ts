import type { SettledCharge } from '../model/settled-charge.ts'
import type { TurnRequest } from '../model/turn.ts'
import { closingOfReply, closingOfStream } from '../wire/chat/close-answer.ts'
import type { FinishedAnswer } from './run.ts'

export type { SettledCharge }

/** The last bytes of an answer: the usage chunk and `[DONE]`, or the JSON body. They say that it is complete. */
export function closingBytes(turn: TurnRequest, answer: FinishedAnswer, settled: SettledCharge): Buffer {
  if (answer.kind === 'json') return closingOfReply(answer.body, answer.rewritten, turn, settled)
  const wantsUsage = turn.protocol === 'chat' && turn.wantsUsage
  return Buffer.concat([answer.unsent, closingOfStream({ model: turn.model, wantsUsage }, answer.head, settled)])
}
