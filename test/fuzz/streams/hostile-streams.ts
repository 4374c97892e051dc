import type { LaneWire } from '../../../src/model/wire.ts'
import { randomFrom } from '../../fixtures/lib/seeded-random.ts'
import { anthropicFrames } from './anthropic-frames.ts'
import { chatFrames } from './chat-frames.ts'
import { type Dice, diceOf, type EncodedFrame, type Tally } from './dice.ts'
import { geminiFrames } from './gemini-frames.ts'
import { mutateFrame, mutateOrder } from './mutate-stream.ts'
import { responsesFrames } from './responses-frames.ts'
import { spellFrames } from './spell-frames.ts'

/** The grammar of each wire. */
const GRAMMARS: Readonly<Record<LaneWire, (dice: Dice) => EncodedFrame[]>> = {
  chat: chatFrames,
  responses: responsesFrames,
  anthropic: anthropicFrames,
  gemini: geminiFrames,
}

export const LANE_WIRES = Object.keys(GRAMMARS) as readonly LaneWire[]

export interface HostileStream {
  readonly wire: LaneWire
  readonly bytes: Buffer
  /** Goes on choosing, for the test that plays the stream. */
  readonly dice: Dice
}

/** A stream as a good server sends it. */
export const plainStream = (wire: LaneWire, dice: Dice): EncodedFrame[] => GRAMMARS[wire](dice)

/** The stream of that number: most are sane but for one or two things, a few are wrong all over. */
export function hostileStream(seed: number, number: number, tally: Tally): HostileStream {
  const dice = diceOf(randomFrom(Math.imul(seed, 1_000_003) + Math.imul(number, 7919)))
  const wire = LANE_WIRES[number % LANE_WIRES.length]!
  const frames = plainStream(wire, dice)
  const another = () => plainStream(dice.pick(LANE_WIRES), dice)
  const wrongs = dice.pick([0, 1, 1, 1, 1, 2, 2, 3, 3, dice.between(4, 12)])
  let damages = 0
  for (let left = wrongs; left > 0; left--) {
    const kind = dice.pick(['value', 'value', 'value', 'value', 'order', 'order', 'bytes'])
    if (kind === 'bytes') damages += 1
    else {
      const name = kind === 'value' ? mutateFrame(dice, frames) : mutateOrder(dice, frames, another)
      if (name !== undefined) tally.count(`${kind}: ${name}`)
    }
  }
  if (wrongs === 0) tally.count('nothing wrong')
  return { wire, bytes: spellFrames(dice, frames, damages, tally), dice }
}
