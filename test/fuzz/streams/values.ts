import type { Dice } from './dice.ts'

/** A value that JSON.stringify cannot write: `spell` puts it into the text as it is. */
export const raw = (json: string): string => `@raw:${json}@`
const RAW = /"@raw:[^@]*@"/g

/** A value as a server without a library for it might write it. */
export const spell = (value: unknown, indent?: number): string =>
  (JSON.stringify(value, null, indent) ?? 'null').replace(RAW, (text) =>
    (JSON.parse(text) as string).slice('@raw:'.length, -1),
  )

const deep = (depth: number): string => raw('['.repeat(depth) + ']'.repeat(depth))
/** Objects, because lists are nowhere taken for anything. */
const deepObject = (depth: number): string => raw(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`)

const WORDS = [
  ...['a', ' the', ' wheel', 'Longer words than most. ', '漢字 🦜', 'é', 'naïve café', '{"a":', '"}', '{}', '0', '\n'],
  ...['\u0000\n\t"\\/', '\u2028', '"delta":"x"', 'data: [DONE]\n\n', '\r\n\r\n', '$&$1', '\ud83d', '\ude42', '\u007f'],
]

export const wordsOf = ({ pick, onceIn, random }: Dice): string => (onceIn(4) ? pick(WORDS) : WORDS[random(4)]!)

/** What stands where something else is expected. */
export function junkOf(dice: Dice): unknown {
  const { pick, onceIn } = dice
  if (onceIn(60)) return hugeOf(dice)
  return pick<unknown>([
    ...[
      null,
      true,
      false,
      0,
      1,
      2,
      -1,
      0.5,
      -0.5,
      1e9,
      2 ** 53,
      -(2 ** 53),
      1e308,
      raw('1e999'),
      raw('-1e999'),
      raw('-0'),
    ],
    ...[
      '',
      '0',
      '1',
      'a',
      'null',
      'NaN',
      'm',
      'text',
      'function',
      '__proto__',
      'constructor',
      'toString',
      '\ud83d',
      ' ',
    ],
    ...[[], {}, [null], [[]], [{}], [1, 'a', null], { a: 1 }, { type: 'text' }, { type: null }, { text: 'a' }, ['a']],
    ...[NOT_A_TEXT, { name: NOT_A_TEXT }, raw('{"__proto__":{"type":"text","text":"a"}}'), raw('{"a":1,"a":2}')],
  ])
}

/** Every object has these two; where they are no functions, code that converts it into a text throws. */
const NOT_A_TEXT = { toString: 1, valueOf: null }

export const hugeOf = ({ pick, between }: Dice): unknown =>
  pick<() => unknown>([
    () => 'x'.repeat(between(1000, 20_000)),
    () => '漢'.repeat(between(1000, 5000)),
    () => Array.from({ length: between(50, 400) }, () => ({})),
    () => deep(between(20, 500)),
    () => deepObject(between(20, 500)),
    () => deepObject(between(5000, 9000)),
  ])()

export const lyingIndexOf = ({ pick }: Dice): unknown =>
  pick<unknown>([
    -1,
    1,
    2,
    7,
    0.5,
    2 ** 31,
    2 ** 53,
    1e308,
    raw('1e999'),
    '0',
    '1',
    '',
    null,
    true,
    [],
    [0],
    {},
    'x',
    '__proto__',
  ])

export const lyingCountOf = ({ pick }: Dice): unknown =>
  pick<unknown>([
    ...[
      -1,
      0,
      0.5,
      1e9,
      2 ** 53,
      1e300,
      1.7e308,
      raw('1e999'),
      raw('-1e999'),
      '12',
      'many',
      null,
      true,
      [],
      [5],
      {},
      { a: 1 },
    ],
  ])

/** Every shape that a failure has come in somewhere, and some more. */
export const errorOf = (dice: Dice): unknown =>
  dice.pick<() => unknown>([
    () => 'Provider returned error',
    () => '',
    () => ({}),
    () => null,
    () => false,
    () => true,
    () => ({ message: 'Overloaded', type: 'overloaded_error' }),
    () => ({ code: 502, message: 'Provider returned error', metadata: { raw: '{}' } }),
    () => ({ code: 429, status: 'RESOURCE_EXHAUSTED', message: 'Quota', details: [{ retryDelay: '37s' }] }),
    () => ({ message: junkOf(dice), code: junkOf(dice), type: junkOf(dice) }),
    () => ({ message: null, code: null, param: null }),
    () => ({ error: { message: 'nested', code: 'deeper' } }),
    () => [{ message: 'a list' }],
    () => NOT_A_TEXT,
    () => ({ message: NOT_A_TEXT, code: NOT_A_TEXT, status: NOT_A_TEXT, details: NOT_A_TEXT }),
    () => junkOf(dice),
  ])()
