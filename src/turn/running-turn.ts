import type { AdmittedTurn } from '../ledger/ledger.ts'
import type { FirstWord } from './first-word.ts'
import type { Keeping } from './keep/keeping.ts'
import type { TurnVoice } from './open-voice.ts'
import type { Turn } from './turn.ts'
import type { TurnStop } from './turn-stop.ts'

/** A turn that runs: its money is held, and everything is open that closes with it. */
export interface RunningTurn extends Turn {
  readonly hold: AdmittedTurn
  readonly voice: TurnVoice
  readonly firstWord: FirstWord
  readonly keeping: Keeping
  readonly stop: TurnStop
}
