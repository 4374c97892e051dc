import type { ResolvedModel } from '../catalog/resolve-model.ts'
import type { Seals } from '../model/seals.ts'
import { openChatVoice } from '../wire/chat/voice.ts'
import type { MintIds } from '../wire/mint-ids.ts'
import { openResponsesVoice } from '../wire/responses/voice.ts'
import { envelopesOf } from './envelopes.ts'
import type { FirstWord } from './first-word.ts'
import type { TurnCall } from './turn-call.ts'
import type { TurnVoice } from './turn-voice.ts'

export interface VoiceDeps {
  readonly mint: MintIds
  readonly now: () => number
  readonly seals: Seals
}

/** The voice in which the client of this turn is spoken to. */
export function openVoice(
  { mint, now, seals }: VoiceDeps,
  { turn, requestId, caller }: Pick<TurnCall, 'turn' | 'requestId' | 'caller'>,
  { entry, effort }: Pick<ResolvedModel, 'entry' | 'effort'>,
  firstWord: Pick<FirstWord, 'isClear'>,
): TurnVoice {
  if (turn.protocol === 'chat') return openChatVoice({ turn, model: entry.id, requestId, mint, now })
  const { sealReasoning, sealCompaction } = envelopesOf(seals, caller.accountId)
  return openResponsesVoice({
    ...{ turn, model: entry.id, effort, requestId, mint, now, mayOpen: () => firstWord.isClear },
    responseId: mint.responseId(),
    ...{ sealReasoning, sealCompaction },
    createdAt: Math.floor(now() / 1000),
  })
}
