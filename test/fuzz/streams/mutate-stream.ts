import type { Dice, EncodedFrame, Json } from './dice.ts'
import { mutateJson } from './mutate-json.ts'
import { errorOf, junkOf } from './values.ts'

const isJson = (emitted: unknown): emitted is Json => typeof emitted === 'object' && emitted !== null

/** A copy: frames that are told twice may come to differ. */
const copyOf = ({ name, emitted }: EncodedFrame): EncodedFrame => ({
  ...(name === undefined ? {} : { name }),
  emitted: structuredClone(emitted),
})

type Change = (frames: EncodedFrame[], dice: Dice, another: () => EncodedFrame[]) => void

/** What can be wrong with the order of a stream. */
const CHANGES: Readonly<Record<string, Change>> = {
  'a frame is missing': (frames, { random }) => void frames.splice(random(frames.length), 1),
  'the first frame is missing': (frames) => void frames.shift(),
  'the end is missing': (frames, { between }) => void frames.splice(-between(1, 4)),
  'it breaks off': (frames, { random }) => void frames.splice(random(frames.length)),
  'a frame comes twice': (frames, { random }) => {
    const at = random(frames.length)
    frames.splice(at, 0, copyOf(frames[at]!))
  },
  'a frame comes again later': (frames, { random }) => {
    const at = random(frames.length)
    frames.splice(at + random(frames.length - at), 0, copyOf(frames[at]!))
  },
  'two frames trade places': (frames, { random }) => {
    const [one, other] = [random(frames.length), random(frames.length)]
    const moved = frames[one]!
    frames[one] = frames[other]!
    frames[other] = moved
  },
  'the end comes early': (frames, { random, between }) => {
    const end = frames.splice(-between(1, 2))
    frames.splice(random(frames.length + 1), 0, ...end)
  },
  'it begins again in the middle': (frames, { random, between }) => {
    frames.splice(random(frames.length), 0, ...frames.slice(0, between(1, 4)).map(copyOf))
  },
  'another answer follows the end': (frames, _, another) => void frames.push(...another()),
  'a frame of another answer': (frames, { random, pick }, another) => {
    frames.splice(random(frames.length), 0, pick(another()))
  },
  'an error in a frame of its own': (frames, dice) => {
    const error = errorOf(dice)
    const emitted = dice.pick<unknown>([
      { error },
      { type: 'error', error },
      { type: 'error', ...(isJson(error) ? error : {}) },
      { choices: [], error },
    ])
    frames.splice(dice.random(frames.length + 1), 0, { name: 'error', emitted })
  },
  'a frame that is no object': (frames, dice) => {
    frames.splice(dice.random(frames.length + 1), 0, {
      emitted: dice.pick<unknown>([junkOf(dice), [], 1, null, 'word', '{', '[DONE] ']),
    })
  },
  'an event of an unknown type': (frames, dice) => {
    const type = dice.pick([
      'nobody',
      'response.nobody.delta',
      'content_block_nobody',
      'keepalive',
      'ping',
      '__proto__',
      'toString',
    ])
    frames.splice(dice.random(frames.length + 1), 0, { name: type, emitted: { type, index: 0, delta: junkOf(dice) } })
  },
  'a flood of one frame': (frames, { random, between }) => {
    const at = random(frames.length)
    frames.splice(at, 0, ...Array.from({ length: between(5, 30) }, () => copyOf(frames[at]!)))
  },
}

export const STREAM_CHANGES: readonly string[] = Object.keys(CHANGES)

/** Changes the order of the stream in one way, and says in which. */
export function mutateOrder(dice: Dice, frames: EncodedFrame[], another: () => EncodedFrame[]): string | undefined {
  const name = dice.pick(STREAM_CHANGES)
  if (frames.length === 0) return undefined
  CHANGES[name]!(frames, dice, another)
  return name
}

/** Changes a value in one of the frames, and says how. */
export function mutateFrame(dice: Dice, frames: EncodedFrame[]): string | undefined {
  const at = dice.random(Math.max(1, frames.length))
  const frame = frames[at]
  if (frame === undefined || !isJson(frame.emitted)) return undefined
  const changed = { ...copyOf(frame), emitted: structuredClone(frame.emitted) as Json }
  frames[at] = changed
  return mutateJson(dice, changed.emitted)
}
