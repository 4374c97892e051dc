import type { KeptFacts } from '../ledger/kept-facts.ts'
import type { Delivery } from '../model/turn.ts'
import type { OnceTurn } from './once-turn.ts'
import type { StoredTurn } from './stored-turn.ts'
import type { TurnVoice } from './turn-voice.ts'

interface Keepers {
  readonly once: OnceTurn | undefined
  readonly stored: StoredTurn | undefined
  readonly voice: TurnVoice
  readonly delivery: Delivery
}

interface WholeAnswer {
  /** Works out its last bytes, once. */
  readonly last: () => Buffer
  /** They have to be worked out anew. */
  readonly forgetLast: () => void
  readonly facts: KeptFacts
}

/**
 * Keeps an answer before anything is charged for it, for whoever repeats the request and for whoever asks by its id: a
 * charge without its answer would be money for nothing, an answer without its charge is charged by recovery.
 */
export async function keepAnswer(
  { once, stored, voice, delivery }: Keepers,
  { last, forgetLast, facts }: WholeAnswer,
): Promise<{ readonly isKept: boolean; readonly isStored: boolean }> {
  const recording = once?.recording ?? stored?.recording
  if (delivery === 'stream') {
    recording?.close(last())
    // In this order: whoever repeats the request gets the id, and what it stands for has to be there.
    const isStored = (await stored?.keep(facts)) ?? false
    return { isStored, isKept: (await once?.keep(facts)) ?? false }
  }
  // A JSON answer that could not be stored still has the chance to say so.
  last()
  const isStored = (await stored?.keep(facts)) ?? false
  if (stored && !isStored && voice.protocol === 'responses') {
    voice.tellUnstored()
    forgetLast()
  }
  recording?.close(last())
  return { isKept: (await once?.keep(facts)) ?? false, isStored }
}
