// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${…} is the file's own way of naming a variable.
import { describe, expect, test } from 'vitest'
import { load, problemsOf } from '../../test/fixtures/config/config.ts'
import { everyPath } from '../../test/fixtures/config/every-path.ts'
import { type ConfigPath, formatPath } from './problem.ts'
import { configSchema, schemaAt } from './schema.ts'

describe('a malicious file', () => {
  const bomb = `a: &a [x, x, x, x, x, x, x, x, x]\n${[...'bcdefghi']
    .map((name, index) => `${name}: &${name} [${Array.from({ length: 9 }, () => `*${'abcdefghi'[index]}`).join(', ')}]`)
    .join('\n')}\n`

  test.each([
    ['aliases that multiply', bomb, 'nested too deep, or too many values'],
    ['an alias inside what it names', 'server: &s { port: *s }\n', 'nested too deep, or too many values'],
    ['an alias to nothing', 'server: *missing\n', 'nothing is anchored as &missing'],
    ['10 MB of text', `# ${'x'.repeat(10_000_000)}\n`, 'more than 1048576'],
    ['brackets without end', '['.repeat(500_000), 'nested deeper'],
    ['braces without end', '{a: '.repeat(200_000), 'nested deeper'],
    ['dashes without end', '- '.repeat(500_000), 'nested deeper'],
    ['spaces without end', `a:\n${' '.repeat(100_000)}b: 1\n`, 'nested deeper'],
    ['keys that are not words', '? [a, b]\n: 1\n', 'cannot be the name of a key'],
    ['the key of all objects', 'server: { __proto__: { port: 1 } }\n', 'cannot be the name of a key'],
    ['the key of all classes', 'constructor: { prototype: 1 }\n', 'there is no such key'],
    ['an override of direction', 'models: [{ id: m, owned_by: "a\u202eb" }]\n', 'without U+202E, which is invisible'],
    ['control characters', 'server: { host: "a\\u0000b" }\n', 'found "a\\u0000b"'],
    ['infinity', 'server: { port: .inf }\n', 'found .inf'],
    ['no number', 'models: [{ id: m, bytes_per_token: .nan }]\n', 'expected'],
  ])('%s', (_, yaml, message) => {
    const problems = problemsOf({ yaml })
    expect(problems.map((problem) => problem.message).join('\n')).toContain(message)
    for (const { place } of problems) expect(place.line).toBeGreaterThan(0)
  })

  test('40,000 keys are read in one pass', () => {
    const yaml = Array.from({ length: 40_000 }, (_, index) => `key${index}: 1`).join('\n')
    expect(problemsOf({ yaml })).toHaveLength(40_000)
  })
})

describe('every key with every type of value', () => {
  const VALUES = [null, 1, -1, 0.5, 1e308, 'x', '', '${', true, [], {}, [null], [[]], [{}], { a: 1 }, { a: null }]
  const document = (path: ConfigPath, value: unknown): unknown =>
    path.reduceRight<unknown>((below, step) => (typeof step === 'number' ? [below] : { [step]: below }), value)

  test('returns a configuration or problems with a line, and never throws', () => {
    const paths = everyPath(configSchema)
    let refused = 0
    for (const path of paths) {
      for (const value of VALUES) {
        const yaml = JSON.stringify(document(path, value))
        const outcome = load({ yaml })
        if (outcome.kind === 'loaded') continue
        refused++
        for (const problem of outcome.problems) {
          expect(problem.place, yaml).toMatchObject({ origin: '/srv/millrace.yaml', line: 1 })
          expect(problem.message, yaml).not.toMatch(/undefined|\[object|Invalid input|NaN/)
          expect(problem.cure, yaml).not.toBe('')
        }
      }
    }
    process.stderr.write(
      `configuration: ${paths.length} keys, ${paths.length * VALUES.length} documents, ${refused} refused\n`,
    )
    expect(paths.length).toBeGreaterThan(90)
  })

  test('a wrong type is refused at its key', () => {
    for (const path of everyPath(configSchema)) {
      const wrong = [{ unknown_key: [] }].find(
        (value) => schemaAt(configSchema, path)?.safeParse(value).success === false,
      )
      if (wrong === undefined) continue
      const places = problemsOf({ yaml: JSON.stringify(document(path, wrong)) }).map((problem) => problem.path)
      expect(places.some((place) => place.startsWith(formatPath(path)))).toBe(true)
    }
  })
})
