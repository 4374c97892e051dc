import { describe, expect, it } from 'vitest'
import { findUnseen } from './text.ts'

describe('an invisible character', () => {
  it.each([
    ['a line break', 'a\nb', 'U+000A'],
    ['an escape', '\u001b[2J', 'U+001B'],
    ['a control character of eight bits', 'a\u009b2J', 'U+009B'],
    ['an override of direction', 'paid\u202egpj.exe', 'U+202E'],
    ['an isolate', 'a\u2066b\u2069', 'U+2066'],
    ['a mark of direction', 'ci\u200f', 'U+200F'],
    ['a space without width', 'ad\u200bmin', 'U+200B'],
    ['a joiner between Latin letters', 'ad\u200dmin', 'U+200D'],
    ['a joiner behind an accent', 'ade\u0301\u200dmin', 'U+200D'],
    ['a joiner at the end of an emoji', '👩\u200d', 'U+200D'],
    ['a non-joiner in front', '\u200cadmin', 'U+200C'],
    ['a byte order mark', '\ufeffci', 'U+FEFF'],
    ['a word joiner', 'a\u2060b', 'U+2060'],
    ['a soft hyphen', 'ad\u00admin', 'U+00AD'],
    ['a letter of Korean that is blank', 'ci\u3164', 'U+3164'],
    ['a variant of a Latin letter', 'ci\ufe0f', 'U+FE0F'],
    ['letters of flags without a flag', 'ci\u{e0061}\u{e007f}', 'U+E0061'],
    ['a separator of lines', 'a\u2028b', 'U+2028'],
    ['half of a pair', 'a\ud83d', 'U+D83D'],
  ])('is found: %s', (_, text, found) => {
    expect(findUnseen(text)).toBe(found)
  })

  it.each([
    '',
    'build server (ci) #2 – ärger, naïve',
    'Ключ сборки',
    '构建服务器 ビルド 빌드',
    'مفتاح البناء',
    'می‌خواهم',
    'क्‍ष न्‍य',
    'ශ්‍රී ලංකා',
    'עברית',
    '👩‍💻 🏳️‍🌈 👨‍👩‍👧‍👦 👍🏽 ❤️‍🔥 1️⃣ ☎️ 🇩🇪',
    '🏴󠁧󠁢󠁥󠁮󠁧󠁿',
    'e\u0301te\u0301',
    '⚠︎ ™️',
  ])('is not in %j', (text) => {
    expect(findUnseen(text)).toBeUndefined()
  })
})
