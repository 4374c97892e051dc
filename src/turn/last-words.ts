import type { SettledCharge } from '../model/settled-charge.ts'
import type { RunFate } from './run.ts'
import type { TurnVoice } from './turn-voice.ts'

/**
 * The last bytes of an answer. They are worked out once: what is kept of an answer before it is charged must be what its
 * client is sent afterwards.
 */
export interface LastWords {
  /** Of a whole answer. */
  ofWhole(settled: SettledCharge): Buffer
  /** Of one that broke off: they tell no charge. */
  ofBroken(): Buffer
  /** What they tell has changed before anybody heard them. */
  forget(): void
}

export function createLastWords(voice: TurnVoice, fate: RunFate): LastWords {
  let said: Buffer | undefined
  let toldCharge: SettledCharge['charge'] | undefined
  return {
    ofWhole(settled) {
      if (fate.kind !== 'finished') throw new Error(`An answer that is ${fate.kind} is not whole`)
      toldCharge ??= settled.charge
      if (toldCharge !== settled.charge) throw new Error('An answer was charged otherwise than it says')
      const { unsent, close } = fate.answer
      said ??= unsent.length === 0 ? close(settled) : Buffer.concat([unsent, close(settled)])
      return said
    },
    ofBroken() {
      if (fate.kind !== 'broken-off') throw new Error(`An answer that is ${fate.kind} has not broken off`)
      said ??= voice.fail(fate.problem)
      return said
    },
    forget() {
      said = undefined
    },
  }
}
