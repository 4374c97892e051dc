import type { ResolvedModel } from '../catalog/resolve-model.ts'
import { openChatVoice } from '../wire/chat/voice.ts'
import type { MintIds } from '../wire/mint-ids.ts'
import type { TurnCall } from './turn-call.ts'
import type { TurnVoice } from './turn-voice.ts'

/** The voice in which the client of this turn is spoken to. */
export function openVoice(
  deps: { readonly mint: MintIds },
  { turn, requestId }: Pick<TurnCall, 'turn' | 'requestId'>,
  { entry }: Pick<ResolvedModel, 'entry'>,
): TurnVoice {
  const { mint } = deps
  if (turn.protocol !== 'chat') throw new Error('Responses has no voice yet')
  return openChatVoice({ turn, model: entry.id, requestId, mint })
}
