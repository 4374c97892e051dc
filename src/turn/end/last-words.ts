import type { SettledCharge } from '../../model/ending.ts'
import type { RunFate } from '../lane/run.ts'
import type { RunningTurn } from '../running-turn.ts'
import type { Resolution } from './resolve-ending.ts'

/** What was charged, or will be. */
type Charged = Pick<SettledCharge, 'charge' | 'tier'>

/**
 * The last bytes of an answer. They are worked out once: what is kept of an answer before it is charged must be what its
 * client is sent afterwards.
 */
export class LastWords {
  readonly #turn: Pick<RunningTurn, 'voice' | 'price'>
  readonly fate: RunFate
  readonly resolution: Resolution
  #said: Buffer | undefined
  #told: Charged['charge'] | undefined

  constructor(turn: Pick<RunningTurn, 'voice' | 'price'>, fate: RunFate, resolution: Resolution) {
    this.#turn = turn
    this.fate = fate
    this.resolution = resolution
  }

  /** An answer that is whole tells what was charged for it; one that broke off tells no charge. */
  say(settled: Charged | undefined): Buffer {
    this.#told ??= settled?.charge
    if (this.#told !== settled?.charge) throw new Error('An answer was charged otherwise than it says')
    this.#said ??= this.#workOut(settled)
    return this.#said
  }

  /** What they tell has changed before anybody heard them. */
  forget(): void {
    this.#said = undefined
  }

  #workOut(settled: Charged | undefined): Buffer {
    const { fate, resolution } = this
    const { voice, price } = this.#turn
    if (fate.kind === 'broken-off') return voice.fail(fate.problem)
    if (fate.kind !== 'finished' || !settled || !resolution.owed)
      throw new Error(`An answer that is ${fate.kind} has no end`)
    const { unsent, close } = fate.answer
    const closing = close({ usage: resolution.owed.usage, charge: settled.charge, tier: settled.tier, price })
    return unsent.length === 0 ? closing : Buffer.concat([unsent, closing])
  }
}
