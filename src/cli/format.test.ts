import { describe, expect, it } from 'vitest'
import { formatFacts, formatTable, styleFor } from './format.ts'

const plain = styleFor(false)

describe('formatTable', () => {
  it('sets columns two spaces apart, numbers flush right, nothing behind the last word', () => {
    const text = formatTable(
      plain,
      [{ title: 'name' }, { title: 'usd', align: 'right' }],
      [
        ['ci', '10.00'],
        ['nightly', '3.5'],
      ],
    )
    expect(text).toBe('name       usd\nci       10.00\nnightly    3.5\n')
  })

  it('does not let a name steer the terminal', () => {
    const text = formatTable(plain, [{ title: 'name' }], [['evil\u001b[2J\nname']])
    expect(text).not.toContain('\u001b')
    expect(text.split('\n')).toHaveLength(3)
  })

  it('colours only its head', () => {
    const text = formatTable(styleFor(true), [{ title: 'name' }], [['ci']])
    expect(text).toBe('\u001b[2mname\u001b[22m\nci\n')
  })
})

describe('formatFacts', () => {
  it('leaves out what is not known', () => {
    expect(
      formatFacts(plain, [
        ['pid', '7'],
        ['url', null],
        ['version', '1.0.0'],
      ]),
    ).toBe('pid      7\nversion  1.0.0\n')
  })
})
