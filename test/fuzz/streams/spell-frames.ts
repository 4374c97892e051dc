import type { Dice, EncodedFrame, Tally } from './dice.ts'
import { spell } from './values.ts'

/** How one server writes its frames. */
interface Style {
  readonly newline: '\n' | '\r\n' | 'mixed'
  readonly colon: 'data: ' | 'data:'
  readonly names: 'as meant' | 'none' | 'lies'
  readonly lines: 'one' | 'many'
  readonly letters: 'plain' | 'escaped'
}

const styleOf = ({ pick }: Dice): Style => ({
  newline: pick(['\n', '\n', '\n', '\r\n', '\r\n', 'mixed']),
  colon: pick(['data: ', 'data: ', 'data: ', 'data:']),
  names: pick(['as meant', 'as meant', 'as meant', 'as meant', 'none', 'lies']),
  lines: pick(['one', 'one', 'one', 'one', 'one', 'one', 'many']),
  letters: pick(['plain', 'plain', 'escaped']),
})

const LIES = [
  'message_stop',
  'response.completed',
  'error',
  'ping',
  'message',
  'content_block_delta',
  '',
  '__proto__',
  'x'.repeat(300),
]

/** Between frames, where a server that has nothing to say shows that it is there. */
const BETWEEN = [
  ': ping\n\n',
  ': OPENROUTER PROCESSING\n\n',
  '\n',
  '\n\n\n',
  ':\n\n',
  'event: ping\ndata: {"type":"ping"}\n\n',
  'id: 7\n\n',
  'retry: 3000\n\n',
  'data:\n\n',
  'data\n\n',
  'event: nothing\n\n',
  'nobody: knows\n\n',
]

type Damage = (text: string, dice: Dice) => string | Buffer

/** What can be wrong with the bytes of a frame, and still be sent. */
const DAMAGES: Readonly<Record<string, Damage>> = {
  'bytes that are no UTF-8': (text, dice) =>
    withBytes(text, dice, dice.pick([[0xff], [0xc3], [0xe2, 0x82], [0xf0, 0x9f, 0xa6], [0x80], [0xed, 0xa0, 0x80]])),
  'a byte is another': (text, dice) => {
    const bytes = Buffer.from(text)
    bytes[dice.random(bytes.length)] = dice.random(256)
    return bytes
  },
  'a byte is missing': (text, { random }) => {
    const bytes = Buffer.from(text)
    const at = random(bytes.length)
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)])
  },
  'the JSON breaks off': (text, { random }) => `${text.slice(0, random(text.length))}\n\n`,
  'no empty line behind it': (text) => text.replace(/[\r\n]+$/, '\n'),
  'lines end with CR alone': (text) => text.replaceAll('\r\n', '\n').replaceAll('\n', '\r'),
  'a byte order mark': (text) => `\ufeff${text}`,
  'zeros in front': (text) => `\u0000\u0000${text}`,
  'other fields around it': (text) => `id: 1\nretry: 5\nnobody: knows\n${text}`,
  'a comment in the frame': (text) => `: still thinking\n${text}`,
  'a page of HTML': () => '<html>\n<body>502 Bad Gateway</body>\n</html>\n\n',
  'plain JSON instead of a frame': () => '{"error":{"message":"No stream today","code":"overloaded"}}\n\n',
  'a name comes twice': (text, { pick }) =>
    text.replace(/\{"/, pick(['{"type":"first","', '{"index":9,"', '{"delta":{},"', '{"choices":[],"'])),
  'the data says [DONE] early': (text) => `data: [DONE]\n\n${text}`,
  'the field has another case': (text) => text.replace('data:', 'Data:'),
  'space in front of the field': (text) => ` ${text}`,
}

export const DAMAGE_NAMES: readonly string[] = Object.keys(DAMAGES)

function withBytes(text: string, { random }: Dice, wrong: readonly number[]): Buffer {
  const bytes = Buffer.from(text)
  const at = random(bytes.length)
  return Buffer.concat([bytes.subarray(0, at), Buffer.from(wrong), bytes.subarray(at)])
}

/** A stream as bytes, `damages` of its frames damaged; how it is written is counted. */
export function spellFrames(dice: Dice, frames: readonly EncodedFrame[], damages: number, tally: Tally): Buffer {
  const style = styleOf(dice)
  tally.count(`spelled: ${style.newline === '\n' ? 'LF' : style.newline === '\r\n' ? 'CRLF' : 'LF and CRLF'}`)
  if (style.colon === 'data:') tally.count('spelled: data without a space')
  if (style.names === 'lies') tally.count('spelled: names that lie')
  if (style.lines === 'many') tally.count('spelled: data in several lines')
  if (style.letters === 'escaped') tally.count('spelled: escapes')
  const texts: (string | Buffer)[] = frames.map((frame) => spellFrame(dice, frame, style))
  for (let left = damages; left > 0 && texts.length > 0; left--) {
    const at = dice.random(texts.length)
    const name = dice.pick(DAMAGE_NAMES)
    tally.count(`damage: ${name}`)
    texts[at] = DAMAGES[name]!(String(texts[at]), dice)
  }
  const pieces = texts.flatMap((text) => {
    if (!dice.onceIn(15)) return [text]
    tally.count('spelled: something between frames')
    return [withNewlines(dice.pick(BETWEEN), style, dice), text]
  })
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece as string)))
}

function spellFrame(dice: Dice, { name, emitted }: EncodedFrame, style: Style): string {
  const json =
    typeof emitted === 'string' && !dice.onceIn(40) ? emitted : spell(emitted, style.lines === 'many' ? 1 : undefined)
  const letters = style.letters === 'escaped' ? escaped(json) : json
  const data = letters.split('\n').map((line) => style.colon + line)
  const called = style.names === 'lies' ? dice.pick(LIES) : style.names === 'none' ? undefined : name
  const lines = called === undefined ? data : [`event: ${called}`, ...data]
  return withNewlines(`${lines.join('\n')}\n\n`, style, dice)
}

const escaped = (json: string): string =>
  json.replace(/[^ -~\n]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)

const withNewlines = (text: string, { newline }: Style, { onceIn }: Dice): string =>
  text.replaceAll('\n', () => (newline === 'mixed' ? (onceIn(2) ? '\r\n' : '\n') : newline))
