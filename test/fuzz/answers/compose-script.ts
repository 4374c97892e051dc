import type { Fields } from '../../../src/lib/types.ts'
import type { LaneWire } from '../../../src/model/wire.ts'
import { randomFrom } from '../../fixtures/lib/seeded-random.ts'
import { framesOf, type Piece, type PlainAnswer } from '../streams/answer-frames.ts'
import { createTally, type Dice, diceOf, type EncodedFrame } from '../streams/dice.ts'
import { LANE_WIRES } from '../streams/hostile-streams.ts'
import { mutateOrder } from '../streams/mutate-stream.ts'
import { spellFrames } from '../streams/spell-frames.ts'
import { raw, spell } from '../streams/values.ts'
import { CUSTOM_TOOL } from './answer.ts'
import { composeInputs, type Inputs } from './compose-inputs.ts'
import { cutPieces } from './cut-pieces.ts'
import { damageReply, replyOf } from './reply-json.ts'

/** A client that declares a custom tool is served by a translation, unless the server of its own wire knows such tools. */
type Tools = 'functions' | 'custom too'

/** One call: what the model says, how its provider writes that down, what becomes of it on the way, and who has asked. */
export interface Script {
  readonly number: number
  readonly wire: LaneWire
  readonly protocol: 'chat' | 'responses'
  readonly delivery: 'stream' | 'json'
  /** How the provider is asked: a client that wants JSON of another protocol is served from a stream. */
  readonly form: 'stream' | 'json'
  readonly choices: number
  readonly tools: Tools
  /** The provider's server is no inventor of its wire, and knows functions only. */
  readonly isGeneric: boolean
  readonly inputs: Inputs
  readonly wantsUsage: boolean
  readonly answers: readonly PlainAnswer[]
  /** What is wrong with it. */
  readonly damages: readonly string[]
  readonly bytes: Buffer
  readonly pieces: readonly Buffer[]
  readonly cut: string
  /** Behind the last byte. */
  readonly breaks: boolean
}

const WORDS = [
  ...[
    'a',
    ' the',
    'Longer words than most. ',
    '漢字 🦜',
    'naïve\n',
    '"\\',
    '{"a":',
    '\u2028',
    '\n\ndata: [DONE]\n\n',
    '\r\n\r\n',
  ],
  ...['half \ud83e', '\udd9c whole', '\u0000', '[DONE]', '$&', 'é'],
]
const ARGUMENTS: readonly (readonly string[])[] = [
  ...[
    [],
    ['{}'],
    ['{"city":', '"Oslo"', '}'],
    ['{"a":[1,', '2]}'],
    ['{"é":"漢', '🦜"}'],
    ['{"deep":{"er":[{"est":"', '\\"x\\\\"}]}}'],
  ],
  ...[
    ['{"n":9007199254740993', '}'],
    ['{"n":1.', '10,"m":-0}'],
    ['{"n":1e4', '00,"m":12345678901234567890.123456789}'],
  ],
]

/** To a server with functions only a custom tool is one with one text. */
const INPUTS: readonly (readonly string[])[] = [
  ...[
    ['{"input":"', '*** Begin', '\\n"}'],
    ['{"input":"漢\\u', '00e9 \\"🦜\\""}'],
    ['{"input"', ':""}'],
    ['{"input":"{}"}'],
  ],
]

function pieceOf(dice: Dice, tools: Tools): Piece {
  const { pick, between, onceIn } = dice
  if (tools === 'custom too' && onceIn(9)) return { kind: 'call', name: CUSTOM_TOOL, words: pick(INPUTS) }
  if (onceIn(3)) return { kind: 'call', name: pick(['look', 'find_it']), words: pick(ARGUMENTS) }
  const kind = pick(['text', 'text', 'thought', 'thought', 'refusal'] as const)
  return { kind, words: Array.from({ length: between(1, 5) }, () => pick(WORDS)) }
}

function answerOf(dice: Dice, tools: Tools): PlainAnswer {
  const { pick, between } = dice
  const pieces = Array.from({ length: between(0, 5) }, () => pieceOf(dice, tools))
  const [input, cached, output, thought] = [between(1, 500), between(0, 300), between(1, 400), between(0, 300)]
  return {
    pieces: pieces.filter(({ kind }, at) => kind === 'call' || kind !== pieces[at - 1]?.kind),
    end: pick(['stop', 'stop', 'stop', 'stop', 'length', 'filter']),
    counts: { input: input + cached, cached, output: output + thought, thought },
  }
}

export function composeScript(seed: number, number: number): Script {
  const dice = diceOf(randomFrom(Math.imul(seed, 1_000_003) + Math.imul(number, 7919)))
  const { pick, onceIn, between } = dice
  const wire = LANE_WIRES[number % LANE_WIRES.length]!
  const protocol = number & 4 ? 'chat' : 'responses'
  const delivery = number & 8 ? 'stream' : 'json'
  const isGeneric = (wire === 'chat' || wire === 'responses') && onceIn(2)
  const tools = wire === protocol && !(isGeneric && onceIn(2)) ? 'functions' : 'custom too'
  const isRelayed = wire === protocol && tools === 'functions'
  const form = delivery === 'json' && isRelayed ? 'json' : 'stream'
  const choices = isRelayed && wire === 'chat' && onceIn(3) ? between(2, 3) : 1
  const answers = Array.from({ length: choices }, () => answerOf(dice, tools))
  const wrongs = pick([0, 0, 1, 1, 1, 1, 2])
  const { bytes, damages } =
    form === 'json' ? jsonOf(dice, wire, answers, wrongs) : streamOf(dice, wire, answers, wrongs)
  const { cut, pieces } = cutPieces(dice, bytes)
  return {
    ...{ number, wire, protocol, delivery, form, choices, tools, answers, bytes, pieces, cut },
    ...{ wantsUsage: !onceIn(5), damages, breaks: onceIn(6), isGeneric },
    inputs: composeInputs(dice, { number, wire, protocol, isGeneric, tools }),
  }
}

interface Written {
  readonly bytes: Buffer
  readonly damages: readonly string[]
}

function jsonOf(dice: Dice, wire: LaneWire, answers: readonly PlainAnswer[], wrongs: number): Written {
  const reply = replyOf(wire, answers)
  return damageReply(dice, reply, wrongs)
}

function streamOf(dice: Dice, wire: LaneWire, answers: readonly PlainAnswer[], wrongs: number): Written {
  const frames = written(dice, wire, answers)
  const damages: string[] = []
  let bytesDamaged = 0
  for (let left = wrongs; left > 0; left--) {
    if (dice.onceIn(3)) bytesDamaged += 1
    else if (wire === 'chat' && dice.onceIn(8)) damages.push(addStray(dice, frames, answers.length))
    else
      damages.push(
        mutateOrder(dice, frames, () =>
          written(dice, dice.onceIn(3) ? dice.pick(LANE_WIRES) : wire, [answerOf(dice, 'functions')]),
        ) ?? 'nothing',
      )
  }
  const tally = createTally()
  const bytes = spellFrames(dice, frames, bytesDamaged, tally)
  const spelled = Object.keys(tally.counts).flatMap((name) => /^damage: (.*)/.exec(name)?.[1] ?? [])
  return { bytes, damages: [...damages, ...spelled] }
}

/** A choice that the client has not asked for. */
function addStray({ pick, random }: Dice, frames: EncodedFrame[], choices: number): string {
  const index = pick([choices, choices + 1, -1, 0.5])
  const delta = pick<Fields>([
    { content: 'astray' },
    { tool_calls: [{ index: 0, id: 'x', type: 'function', function: { name: 'x', arguments: '{' } }] },
    {},
  ])
  const finish_reason = pick([null, 'stop', 'tool_calls'])
  frames.splice(random(frames.length), 0, {
    emitted: {
      id: 'c1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      choices: [{ index, delta, finish_reason }],
    },
  })
  return 'a choice that the client has not asked for'
}

function written(dice: Dice, wire: LaneWire, answers: readonly PlainAnswer[]): EncodedFrame[] {
  const [answer] = answers
  if (answer === undefined) return []
  if (wire === 'gemini') return exactArguments(framesOf(wire, answer), answer)
  return answers.length === 1 ? framesOf(wire, answer) : interleaved(dice, answers)
}

/** Arguments as their model has written them: a double would lose digits of them. */
function exactArguments(frames: EncodedFrame[], { pieces }: PlainAnswer): EncodedFrame[] {
  const all = pieces.flatMap((piece) => (piece.kind === 'call' ? [piece.words.join('') || '{}'] : []))
  return frames.map((frame) => {
    const text = JSON.stringify(frame.emitted)
    if (!text.includes('"functionCall"')) return frame
    const emitted = structuredClone(frame.emitted) as {
      candidates: [{ content: { parts: [{ functionCall: Fields }] } }]
    }
    emitted.candidates[0].content.parts[0].functionCall.args = raw(all.shift() ?? '{}')
    return { emitted }
  })
}

/** Several choices of one stream, and their counts once. */
function interleaved({ random }: Dice, answers: readonly PlainAnswer[]): EncodedFrame[] {
  const reported = answers.map((answer, index) =>
    framesOf('chat', answer)
      .slice(0, -2)
      .map(({ emitted }) => {
        const {
          choices: [choice],
          ...head
        } = structuredClone(emitted) as { choices: [Fields] }
        return { emitted: { ...head, choices: [{ ...choice, index }] } }
      }),
  )
  const frames: EncodedFrame[] = []
  for (
    let left = reported.filter(({ length }) => length > 0);
    left.length > 0;
    left = left.filter(({ length }) => length > 0)
  )
    frames.push(left[random(left.length)]!.shift()!)
  return [...frames, ...framesOf('chat', answers[0]!).slice(-2)]
}

export const jsonText = (value: unknown): string => spell(value)
