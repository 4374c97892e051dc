import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { configJsonSchema } from '../../src/config/init-template.ts'
import { configSchema, schemaAt } from '../../src/config/schema.ts'
import { pages, textOf } from './source-files.ts'

const PAGE = 'docs/operate/configuration.md'
const HEADING = '## All keys\n'

/** As much of JSON Schema as the published file uses. */
interface Schema {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly default?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly minimum?: number
  readonly maximum?: number
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
}

const schema: Schema = JSON.parse(configJsonSchema())

/* What the page says of each key. */

const bounds = ({ minimum, maximum }: Schema): string =>
  minimum === undefined || maximum === undefined ? '' : ` ${minimum} to ${maximum}.`

/** A key of few words may also hold a variable, so its words are one of several shapes. */
const choices = (key: Schema): string => {
  const words = [key, key.items].flatMap((each) => [each, ...(each?.anyOf ?? [])]).find((each) => each?.enum)?.enum
  return words === undefined ? '' : ` One of ${words.map((word) => `\`${word}\``).join(', ')}.`
}

const standsAt = (key: Schema, isRequired: boolean): string => {
  if (isRequired) return 'needed'
  return key.default === undefined || isMap(key.default) ? '–' : `\`${JSON.stringify(key.default)}\``
}

const isMap = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)

function rowsOf(path: string, key: Schema, isRequired: boolean): string[] {
  const meaning = `${key.description ?? ''}${choices(key)}${bounds(key)}`.replaceAll('|', '\\|')
  const below = key.properties ?? key.items?.properties
  const parent = key.items?.properties === undefined ? path : `${path}[]`
  const required = (key.properties === undefined ? key.items?.required : key.required) ?? []
  return [
    `| \`${path}\` | ${standsAt(key, isRequired)} | ${meaning} |`,
    ...Object.entries(below ?? {}).flatMap(([name, child]) =>
      rowsOf(`${parent}.${name}`, child, required.includes(name)),
    ),
  ]
}

function reference(): string {
  const sections = Object.entries(schema.properties ?? {}).map(([name, key]) => {
    const [own = '', ...rows] = rowsOf(name, key, false)
    const lead = rows.length === 0 ? [] : [key.description ?? '', '']
    const head = ['| Key | Default | Means |', '| --- | --- | --- |']
    return [`### ${name}`, '', ...lead, ...head, ...(rows.length === 0 ? [own] : rows)].join('\n')
  })
  return `${HEADING}\n${sections.join('\n\n')}\n`
}

// To renew the page after a change of the schema: npx vitest run --project conventions test/conventions/configuration-documented.test.ts -u
it('the page of the configuration has every key, as the schema describes it', async () => {
  const prose = textOf(PAGE).split(HEADING)[0] ?? ''
  await expect(`${prose}${reference()}`).toMatchFileSnapshot(`../../${PAGE}`)
})

/* What other pages say. */

const SECTIONS = Object.keys(schema.properties ?? {})
const MENTION = new RegExp(`\`((?:${SECTIONS.join('|')})(?:\\[\\])?(?:\\.[a-z_]+(?:\\[\\])?)+)(?::[^\`]*)?\``, 'g')

const mentionsIn = (page: string): string[] =>
  [...page.matchAll(MENTION)].map(([, key]) => key ?? '').filter((key) => !/\.(db|json|ts|mjs)$/.test(key))

const stepsOf = (key: string): (string | number)[] =>
  key
    .replaceAll('[]', '.0')
    .split('.')
    .map((step) => (step === '0' ? 0 : step))

const isKey = (key: string): boolean => schemaAt(configSchema, stepsOf(key)) !== undefined

const examplesIn = (page: string): string[] =>
  [...page.matchAll(/^( *)```yaml\n(.*?)^ *```/gms)].map(([, indent = '', body = '']) =>
    body.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  )

/** Every key that a piece of a file writes, as the path that the schema would know it by. */
function keysWritten(value: unknown, path: (string | number)[] = []): (string | number)[][] {
  if (Array.isArray(value)) return value.flatMap((item) => keysWritten(item, [...path, 0]))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, child]) => [[...path, key], ...keysWritten(child, [...path, key])])
}

/** A page may show the whole file or a part of one model or provider: the reading that knows most of it counts. */
const PLACES: readonly (readonly (string | number)[])[] = [[], ['models', 0], ['upstreams', 0]]

function unknownIn(example: string): string[] {
  const written = keysWritten(parse(example))
  const readings = PLACES.map((place) =>
    written.filter((path) => schemaAt(configSchema, [...place, ...path]) === undefined).map((path) => path.join('.')),
  )
  return readings.reduce((best, reading) => (reading.length < best.length ? reading : best))
}

it('every key of the configuration that a page names is there', () => {
  const unknown = pages().flatMap((path) =>
    mentionsIn(textOf(path))
      .filter((key) => !isKey(key))
      .map((key) => `${path}: ${key}`),
  )
  expect(unknown).toEqual([])
})

it('every example of a configuration in a page has known keys only', () => {
  // Clients have configurations of their own.
  const ours = pages().filter((path) => !path.startsWith('docs/clients/'))
  const unknown = ours.flatMap((path) =>
    examplesIn(textOf(path))
      .flatMap(unknownIn)
      .map((key) => `${path}: ${key}`),
  )
  expect(unknown).toEqual([])
})

it('a key that is not there would be noticed', () => {
  const page = 'Set `server.prot`, `models[].lanes[].weight` or `streams.keep_alive: 5s`; see `server.json`.'
  expect(mentionsIn(page).map((key) => `${key} ${isKey(key)}`)).toEqual([
    'server.prot false',
    'models[].lanes[].weight true',
    'streams.keep_alive true',
  ])
  expect(examplesIn('  ```yaml\n  server: { port: 1, prot: 2 }\n  ```').flatMap(unknownIn)).toEqual(['server.prot'])
})
