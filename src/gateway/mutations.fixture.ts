/** Whole numbers from 0 to just below what is asked. */
type Random = (below: number) => number

/** What a hostile caller makes of envelopes that it has; each gives a text that is none of them, or undefined. */
export type Mutation = (envelope: string, other: string, random: Random) => string | undefined

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const ANY = [...ALPHABET, ...'.=+/ \n\t\0"%', 'ä', '漢', '🙂', '\ud83d', '\ufeff', '\u200b']
/** Letters of other scripts that are written alike; the full-width ones become ours when somebody normalises a text. */
const LOOKALIKES: readonly string[] = [
  ...[
    'aа',
    'eе',
    'oо',
    'cс',
    'pр',
    'xх',
    'yу',
    'AА',
    'BВ',
    'KК',
    'MМ',
    'HН',
    'TТ',
    'mⅿ',
    '-‐',
    '-‑',
    '-−',
    '.․',
    '.。',
  ],
  ...Array.from(ALPHABET, (letter) => letter + String.fromCodePoint(letter.codePointAt(0)! + 0xfee0)),
]
const NONCE_CHARACTERS = 16
const TAG_CHARACTERS = 22

export const MUTATIONS = {
  'a character is another': (envelope, _, random) => {
    const at = random(envelope.length)
    return put(envelope, at, 1, ANY[random(ANY.length)]!)
  },
  'a bit of the bytes is another': (envelope, _, random) => {
    const { head, words } = partsOf(envelope)
    const bytes = Buffer.from(words, 'base64url')
    const at = random(bytes.length)
    bytes[at] = bytes[at]! ^ (1 << random(8))
    return head + bytes.toString('base64url')
  },
  'a character more': (envelope, _, random) => put(envelope, random(envelope.length + 1), 0, ANY[random(ANY.length)]!),
  'some characters fewer': (envelope, _, random) => put(envelope, random(envelope.length), 1 + random(8), ''),
  'two characters in each other’s place': (envelope, _, random) => {
    const [one, two] = [random(envelope.length), random(envelope.length)]
    return put(put(envelope, one, 1, envelope[two]!), two, 1, envelope[one]!)
  },
  'the end cut off': (envelope, _, random) => envelope.slice(0, random(envelope.length)),
  'the beginning cut off': (envelope, _, random) => envelope.slice(1 + random(envelope.length - 1)),
  'twice, or with another behind it': (envelope, other, random) =>
    random(2) === 0 ? envelope + envelope : envelope + ['', '.'][random(2)]! + other,
  'the nonce of another': (envelope, other) => {
    const { head, words } = partsOf(envelope)
    return head + partsOf(other).words.slice(0, NONCE_CHARACTERS) + words.slice(NONCE_CHARACTERS)
  },
  'the tag of another': (envelope, other) => envelope.slice(0, -TAG_CHARACTERS) + other.slice(-TAG_CHARACTERS),
  'one half of each': (envelope, other, random) => {
    const [one, two] = [partsOf(envelope).words, partsOf(other).words]
    const at = random(Math.min(one.length, two.length))
    return partsOf(envelope).head + one.slice(0, at) + two.slice(at)
  },
  'the name of another secret': (envelope, other) => partsOf(other).head + partsOf(envelope).words,
  'a name of no secret': (envelope, _, random) =>
    put(envelope, 4, 8, Array.from({ length: 8 }, () => ALPHABET[random(ALPHABET.length)]).join('')),
  'another version': (envelope, _, random) =>
    ['mr0', 'mr2', 'mr11', 'MR1', 'mr', '', 'mr1.mr1', 'mr１', 'mr01', 'v1'][random(10)] + envelope.slice(3),
  'base64 as others write it': (envelope, _, random) => {
    const { head, words } = partsOf(envelope)
    const standard = words.replaceAll('-', '+').replaceAll('_', '/')
    const padded = words.padEnd(Math.ceil(words.length / 4) * 4, '=')
    const lines = words.replaceAll(/(.{40})/g, '$1\n')
    return head + [standard, padded, `${words}=`, `${words}====`, lines, ` ${words}`, `${words}\n`][random(7)]!
  },
  'bits behind the last byte': (envelope, _, random) => {
    const bits = { 2: 15, 3: 3 }[partsOf(envelope).words.length % 4]
    if (bits === undefined) return undefined
    const last = ALPHABET.indexOf(envelope.at(-1)!)
    return envelope.slice(0, -1) + ALPHABET[last ^ (1 + random(bits))]!
  },
  'capitals for small letters': (envelope, _, random) =>
    [envelope.toUpperCase(), envelope.toLowerCase(), put(envelope, 0, 13, envelope.slice(0, 13).toUpperCase())][
      random(3)
    ],
  'a letter that looks alike': (envelope, _, random) => {
    const [plain, alike] = LOOKALIKES[random(LOOKALIKES.length)]! as unknown as [string, string]
    const at = envelope.indexOf(plain, random(envelope.length))
    return at === -1 ? undefined : put(envelope, at, 1, alike)
  },
  'something that is not seen': (envelope, _, random) => {
    const unseen = ['\u200b', '\u200d', '\ufeff', '\u00ad', '\u2060', '\u0301', '\u202e', '\0'][random(8)]!
    return put(envelope, random(envelope.length + 1), 0, unseen)
  },
  'space around it': (envelope, _, random) =>
    [` ${envelope}`, `${envelope} `, `\n${envelope}`, `${envelope}\r\n`, `"${envelope}"`, `${envelope}\u3000`][
      random(6)
    ],
  'nothing, or nearly nothing': (envelope, _, random) =>
    [
      '',
      '.',
      '..',
      '...',
      'mr1',
      'mr1.',
      'mr1..',
      partsOf(envelope).head,
      partsOf(envelope).head.slice(0, -1),
      '\0',
      '🙂',
    ][random(11)],
  'random bytes behind a true beginning': (envelope, _, random) =>
    partsOf(envelope).head + Buffer.from(Array.from({ length: random(200) }, () => random(256))).toString('base64url'),
  'random text': (_, __, random) => Array.from({ length: random(300) }, () => ANY[random(ANY.length)]).join(''),
} satisfies Readonly<Record<string, Mutation>>

/** `mr1.` and the name of a secret. */
const HEAD_LENGTH = 13

const partsOf = (envelope: string) => ({ head: envelope.slice(0, HEAD_LENGTH), words: envelope.slice(HEAD_LENGTH) })

const put = (text: string, at: number, instead: number, piece: string): string =>
  text.slice(0, at) + piece + text.slice(at + instead)
