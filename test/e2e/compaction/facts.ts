import { answerTo, FACT } from '../../fakes/scripted-model-state.ts'
import type { randomFrom } from '../../fixtures/lib/seeded-random.ts'

/** What the model is told once, and asked for long afterwards: said by the user, or read in what a tool gave. */
export interface Facts {
  /** From this turn on there are two more to be known. */
  place(turn: number): void
  /** Those that the user has to say with the next request; they are known then. */
  toEmit(): string[]
  /** The same with the next result of a tool. */
  toRead(): string[]
  /** What a model has to answer that was told everything so far. */
  known(): readonly Received[]
}

export interface Received {
  readonly about: string
  readonly answer: string
}

export function createFacts(random: ReturnType<typeof randomFrom>): Facts {
  const known: Received[] = []
  const owed = { emitted: [] as string[], read: [] as string[] }
  const give = (how: 'emitted' | 'read') => () =>
    owed[how].splice(0).map((about) => {
      const value = `v${random(2 ** 31).toString(36)}`
      known.push({ about, answer: answerTo(about, value) })
      return FACT(about, value)
    })
  return {
    place(turn) {
      owed.emitted.push(`said-at-${turn}`)
      owed.read.push(`read-at-${turn}`)
    },
    toEmit: give('emitted'),
    toRead: give('read'),
    known: () => known,
  }
}
