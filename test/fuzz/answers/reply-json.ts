import type { Fields } from '../../../src/lib/types.ts'
import type { LaneWire } from '../../../src/model/wire.ts'
import { framesOf, type Piece, type PlainAnswer } from '../streams/answer-frames.ts'
import type { Dice } from '../streams/dice.ts'

/** The answer as a server gives it that was asked for JSON. */
export function replyOf(wire: LaneWire, answers: readonly PlainAnswer[]): Fields {
  if (wire === 'responses') {
    const { response } = framesOf(wire, answers[0]!).at(-1)!.emitted as { response: Fields }
    return { object: 'response', created_at: 1, model: 'm', ...response }
  }
  const { usage } = framesOf('chat', answers[0]!).at(-2)!.emitted as Fields
  const head = { id: 'c1', object: 'chat.completion', created: 1, model: 'm' }
  return { ...head, choices: answers.map((answer, index) => chatChoice(answer, index)), usage }
}

function chatChoice(answer: PlainAnswer, index: number): Fields {
  const wordsOf = (kind: Piece['kind']): string | null => {
    const all = answer.pieces.filter((piece) => piece.kind === kind)
    return all.length === 0 ? null : all.map(({ words }) => words.join('')).join('')
  }
  const calls = answer.pieces.flatMap((piece, at) =>
    piece.kind === 'call'
      ? [{ id: `c_${at}`, type: 'function', function: { name: piece.name, arguments: piece.words.join('') } }]
      : [],
  )
  const message = {
    ...{ role: 'assistant', content: wordsOf('text'), refusal: wordsOf('refusal') },
    ...(wordsOf('thought') === null ? {} : { reasoning_content: wordsOf('thought') }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
  const stop = calls.length > 0 ? 'tool_calls' : 'stop'
  return { index, message, finish_reason: { stop, length: 'length', filter: 'content_filter' }[answer.end] }
}

type Change = (reply: Fields, dice: Dice) => void
type Damage = (bytes: Buffer, dice: Dice) => Buffer

const listIn = (reply: Fields): unknown[] => (reply.choices ?? reply.output ?? []) as unknown[]

const TWICE = 'an entry comes twice'

const CHANGES: Readonly<Record<string, Change>> = {
  'a member is missing': (reply, { pick }) =>
    void delete reply[pick(['choices', 'output', 'usage', 'id', 'object', 'status'])],
  'an entry is missing': (reply, { random }) => void listIn(reply).splice(random(9), 1),
  [TWICE]: (reply) => void listIn(reply)?.push(...structuredClone(listIn(reply).slice(0, 1))),
  'the list is turned round': (reply) => void listIn(reply)?.reverse(),
  'an error beside it': (reply) => void Object.assign(reply, { error: { message: 'Overloaded', code: 'overloaded' } }),
}

const DAMAGES: Readonly<Record<string, Damage>> = {
  'the JSON breaks off': (bytes, { random }) => bytes.subarray(0, random(bytes.length)),
  'a byte is another': (bytes, { random }) => {
    const damaged = Buffer.from(bytes)
    damaged[random(bytes.length)] = random(256)
    return damaged
  },
  'a byte is missing': (bytes, { random }) => {
    const at = random(bytes.length)
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)])
  },
  'a byte order mark': (bytes) => Buffer.concat([Buffer.from('\ufeff'), bytes]),
  'zeros in front': (bytes) => Buffer.concat([Buffer.alloc(2), bytes]),
  'blanks around it': (bytes) => Buffer.concat([Buffer.from('\r\n \n'), bytes, Buffer.from('\n\n')]),
  'it comes twice': (bytes) => Buffer.concat([bytes, bytes]),
  'a page of HTML': () => Buffer.from('<html>\n<body>502 Bad Gateway</body>\n</html>\n'),
  'bytes that are no UTF-8': (bytes, { random }) => {
    const at = random(bytes.length)
    return Buffer.concat([bytes.subarray(0, at), Buffer.from([0xe2, 0x82]), bytes.subarray(at)])
  },
}

export function damageReply(dice: Dice, reply: Fields, wrongs: number): { bytes: Buffer; damages: string[] } {
  const chosen = Array.from({ length: wrongs }, () =>
    dice.pick(dice.onceIn(2) ? Object.keys(CHANGES) : Object.keys(DAMAGES)),
  )
  // With one of the two damaged, no reader could tell whether they are one item or two.
  const names = chosen.includes(TWICE) ? [TWICE] : chosen
  for (const name of names) CHANGES[name]?.(reply, dice)
  const whole = Buffer.from(JSON.stringify(reply))
  return { bytes: names.reduce<Buffer>((bytes, name) => DAMAGES[name]?.(bytes, dice) ?? bytes, whole), damages: names }
}
