import type { Seals } from '../model/seals.ts'
import { type ChatVoice, openChatVoice } from '../wire/chat/voice.ts'
import type { MintIds } from '../wire/mint-ids.ts'
import { openResponsesVoice, type ResponsesVoice } from '../wire/responses/voice.ts'
import { envelopesOf } from './envelopes.ts'
import type { Turn } from './turn.ts'

/** What the client of a turn is spoken to in. */
export type TurnVoice = ChatVoice | ResponsesVoice

export interface VoiceDeps {
  readonly mint: MintIds
  readonly now: () => number
  readonly seals: Seals
}

export type SpokenTurn = Pick<Turn, 'requestId' | 'caller' | 'program' | 'request' | 'entry' | 'effort'>

/** `mayOpen` is false while an answer that is opened could not be asked for by its id. */
export function openVoice({ mint, now, seals }: VoiceDeps, turn: SpokenTurn, mayOpen: () => boolean): TurnVoice {
  const { request, requestId, caller, program, entry, effort } = turn
  if (request.protocol === 'chat') return openChatVoice({ request, model: entry.id, requestId, mint, now })
  const { sealReasoning, sealCompaction } = envelopesOf(seals, caller.accountId)
  return openResponsesVoice({
    ...{ request, model: entry.id, effort, requestId, mint, now, mayOpen, program },
    responseId: mint.responseId(),
    ...{ sealReasoning, sealCompaction },
    createdAt: Math.floor(now() / 1000),
  })
}
