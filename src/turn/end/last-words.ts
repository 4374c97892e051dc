import type { SettledCharge } from '../../model/ending.ts'
import type { RunFate } from '../lane/run.ts'
import type { TurnVoice } from '../open-voice.ts'

/**
 * The last bytes of an answer. They are worked out once: what is kept of an answer before it is charged must be what its
 * client is sent afterwards.
 */
export class LastWords {
  readonly #voice: Pick<TurnVoice, 'fail'>
  readonly #fate: RunFate
  #said: Buffer | undefined
  #told: SettledCharge['charge'] | undefined

  constructor(voice: Pick<TurnVoice, 'fail'>, fate: RunFate) {
    this.#voice = voice
    this.#fate = fate
  }

  /** An answer that is whole tells what was charged for it; one that broke off tells no charge. */
  say(settled: SettledCharge | undefined): Buffer {
    this.#told ??= settled?.charge
    if (this.#told !== settled?.charge) throw new Error('An answer was charged otherwise than it says')
    this.#said ??= this.#workOut(settled)
    return this.#said
  }

  /** What they tell has changed before anybody heard them. */
  forget(): void {
    this.#said = undefined
  }

  #workOut(settled: SettledCharge | undefined): Buffer {
    const fate = this.#fate
    if (fate.kind === 'broken-off') return this.#voice.fail(fate.problem)
    if (fate.kind !== 'finished' || settled === undefined) throw new Error(`An answer that is ${fate.kind} has no end`)
    const { unsent, close } = fate.answer
    return unsent.length === 0 ? close(settled) : Buffer.concat([unsent, close(settled)])
  }
}
