// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${…} is the file's own way of naming a variable.
import { describe, expect, it } from 'vitest'
import { sourcesOf, type World } from '../../test/fixtures/config/config.ts'
import { checkConfig } from '../app/check-config.ts'

/** No pattern for keys matches it. */
const CANARY = 'Wq7vZr2mKd9XcTb4'
const LONG_CANARY = `${CANARY}-`.repeat(12)

const FORMS: Readonly<Record<string, string>> = {
  'with a space': `"${CANARY} x"`,
  'with a line break': `"${CANARY}\\n"`,
  'with a wrong escape': `"${CANARY}\\q"`,
  'without its closing quote': `"${CANARY}`,
  'with a second value behind it': `"x" ${CANARY}`,
  'as a tag': `!${CANARY}`,
  'as an alias': `*${CANARY}`,
  'as a block header': `|${CANARY}\n      x`,
  'in a list': `[${CANARY}]`,
  'in a map': `{ value: ${CANARY} }`,
  'as a reference': `"\${${CANARY}-}"`,
  'as a long reference': `"\${${LONG_CANARY}}"`,
  'as a default of the wrong shape': `"\${MISSING:-${CANARY} x}"`,
  'out of a variable of the wrong shape': '"${MALFORMED}"',
  'out of a file of the wrong shape': '"${file:/malformed}"',
}

const reportOf = (world: World): string => {
  const check = checkConfig(
    sourcesOf({
      environment: { MALFORMED: `${CANARY} x`, KEY: CANARY },
      files: { '/malformed': `${CANARY}\nx` },
      ...world,
    }),
    0,
  )
  expect(check.ok).toBe(false)
  return `${check.lines.join('\n')}\n${JSON.stringify(check.json)}`
}

const fileWith = (keys: string) => `upstreams:\n  - id: far\n    wire: chat\n    ${keys}\n`
const FAR = 'base_url: "https://a.example/v1"'

describe('messages never quote a malformed credential', () => {
  it.each(Object.entries(FORMS))('%s', (_, written) => {
    for (const key of [`api_key: ${written}`, `headers: { x-auth: ${written} }`])
      expect(reportOf({ yaml: fileWith(`${FAR}\n    ${key}\n    nonsense: 1`) })).not.toContain(CANARY)
  })

  it('as a number', () => {
    expect(reportOf({ yaml: fileWith(`${FAR}\n    api_key: 4711471147114711`) })).not.toContain('4711471147114711')
    expect(reportOf({ yaml: fileWith(`${FAR}\n    api_key: 4711`) })).not.toContain('4711')
  })

  it('in an address, or where it is used a second time', () => {
    expect(reportOf({ yaml: fileWith(`base_url: "https://me:${CANARY}@a.example/v1"`) })).not.toContain(CANARY)
    const swapped = fileWith(
      `${FAR}\n    api_key: "\${KEY}"\n    dialect: ${CANARY}\n    timeouts: { idle: ${CANARY} }`,
    )
    expect(reportOf({ yaml: swapped })).not.toContain(CANARY)
    const dangling = `${fileWith(`${FAR}\n    api_key: "\${KEY}"`)}models: [{ id: m, lanes: [{ upstream: "\${KEY}", model: m }] }]\n`
    expect(reportOf({ yaml: dangling })).toContain('there is no upstream')
    expect(reportOf({ yaml: dangling })).not.toContain(CANARY)
  })

  it('but quote the name of an unset variable', () => {
    expect(reportOf({ yaml: fileWith(`${FAR}\n    api_key: "\${FAR_API_KEY_OF_OURS}"`) })).toContain(
      'FAR_API_KEY_OF_OURS',
    )
  })
})
