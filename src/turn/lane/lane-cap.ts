import type { Lane } from '../../catalog/catalog.ts'
import { capOn } from '../../routing/lane-dialect.ts'
import type { RunningTurn } from '../running-turn.ts'

interface CappedTurn {
  readonly request: Pick<RunningTurn['request'], 'outputCap'>
  readonly hold: Pick<RunningTurn['hold'], 'cap'>
}

/** What one lane may write. More may be held, for another lane of the turn that takes no cap as low as the client's. */
export const laneCap = ({ request: { outputCap }, hold }: CappedTurn, lane: Lane): number =>
  outputCap === undefined ? hold.cap : Math.min(capOn(lane, outputCap), hold.cap)
