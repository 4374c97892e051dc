import type { Seals } from '../model/seals.ts'

/** Envelopes that a test can read. */
export const plainSeals: Seals = {
  seal: (purpose, owner, content) => JSON.stringify([purpose, owner, content]),
  open(purpose, owner, envelope) {
    if (!envelope.startsWith('[')) return undefined
    const [forWhat, whose, content] = JSON.parse(envelope) as string[]
    return forWhat === purpose && whose === owner ? content : undefined
  },
}
