import { describe, expect, it } from 'vitest'
import { type Block, type Inline, readBlocks, readInline } from './read-markdown.ts'

const plain = (parts: readonly Inline[]): string =>
  parts.map((part) => ('parts' in part ? plain(part.parts) : part.text)).join('')
const kinds = (blocks: readonly Block[]) => blocks.map(({ kind }) => kind)

describe('blocks', () => {
  it('are told apart', () => {
    const text =
      '# Mills\nTurn *water*\ninto work.\n\n- one\n- two\n  - three\n\n1. a\n2. b\n\n> said\n\n---\n\n```ts\nlet a = 1\n```\nend'
    const blocks = readBlocks(text)
    expect(kinds(blocks)).toEqual(['heading', 'paragraph', 'list', 'list', 'quote', 'line', 'code', 'paragraph'])
    expect(blocks[2]).toMatchObject({
      start: undefined,
      items: [[{ text: 'one' }], [{ text: 'two' }, { kind: 'list' }]],
    })
    expect(blocks[3]).toMatchObject({ start: 1, items: [[{ text: 'a' }], [{ text: 'b' }]] })
    expect(blocks[6]).toEqual({ kind: 'code', language: 'ts', code: 'let a = 1' })
  })

  it('a fence that has no end yet is code, and blank lines and marks in it stay', () => {
    expect(readBlocks('```\n# no\n\n- heading')).toEqual([{ kind: 'code', language: '', code: '# no\n\n- heading' }])
  })

  it('code in a list belongs to its item', () => {
    expect(readBlocks('1. Do:\n\n   ```sh\n   ls\n   ```\n2. Next')).toMatchObject([
      { kind: 'list', items: [[{ text: 'Do:' }, { kind: 'code', code: 'ls' }], [{ text: 'Next' }]] },
    ])
  })

  it('tables have as many cells in each row as in their head', () => {
    expect(readBlocks('| a | b |\n|---|:-:|\n| 1 | 2 \\| 3 | 4 |\n| 5 |')).toEqual([
      {
        kind: 'table',
        head: ['a', 'b'],
        rows: [
          ['1', '2 | 3'],
          ['5', ''],
        ],
      },
    ])
  })

  it('every character of any text stays, and none takes long', () => {
    for (const text of ['> '.repeat(5000), '- '.repeat(5000), '*'.repeat(9000), '['.repeat(9000), '`'.repeat(9000)]) {
      expect(readBlocks(text).length).toBeGreaterThan(0)
      expect(plain(readInline(text)).length).toBeGreaterThan(0)
    }
  })
})

describe('inlines', () => {
  it('are told apart', () => {
    expect(readInline('a **b *c*** `d*` ~~e~~ \\*f')).toEqual([
      { kind: 'text', text: 'a ' },
      {
        kind: 'strong',
        parts: [
          { kind: 'text', text: 'b ' },
          { kind: 'emphasis', parts: [{ kind: 'text', text: 'c' }] },
        ],
      },
      ...[' ', ' ', ' '].flatMap((text, at) => [
        { kind: 'text', text },
        [
          { kind: 'code', text: 'd*' },
          { kind: 'deleted', parts: [{ kind: 'text', text: 'e' }] },
          { kind: 'text', text: '*' },
        ][at],
      ]),
      { kind: 'text', text: 'f' },
    ])
    expect(plain(readInline('snake_case_name and 2 * 3 * 4'))).toBe('snake_case_name and 2 * 3 * 4')
    expect(readInline('`a`')).toEqual([{ kind: 'code', text: 'a' }])
  })

  it.each(['javascript:alert(1)', 'data:text/html,x', '//evil.example', 'file:///etc/passwd', '/console/keys'])(
    'a link to %s stays text',
    (address) => {
      const parts = readInline(`[click](${address}) <a href="${address}">x</a> ![p](${address})`)
      expect(parts.filter(({ kind }) => kind === 'link')).toEqual([])
    },
  )

  it('web addresses are links, without the sentence around them', () => {
    const addresses = readInline(
      'See https://a.example/b_(c). [x](https://d.example "t"), <mailto:e@f.example>!',
    ).flatMap((part) => (part.kind === 'link' ? [part.address] : []))
    expect(addresses).toEqual(['https://a.example/b_(c)', 'https://d.example', 'mailto:e@f.example'])
  })
})
