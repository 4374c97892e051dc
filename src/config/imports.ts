import { z } from 'zod'
import {
  type KnownModel,
  type KnownTokenPrices,
  knownEfforts,
  knownModel,
  knownModels,
} from '../catalog/known-models.ts'
import { matchesGlob } from '../catalog/resolve-model.ts'
import { formatPricePerMillion, type PicoPerToken, parsePricePerMillion } from '../model/money.ts'
import type { FileReader } from './files.ts'
import { importSchema } from './model-schema.ts'
import {
  childOf,
  itemsAt,
  type LocatedItem,
  type LocatedMap,
  type LocatedNode,
  parseYaml,
  placeAt,
  plainOf,
  treeOf,
} from './parse-yaml.ts'
import { type ConfigProblem, formatPath } from './problem.ts'

/** The file of pins beside a configuration. */
export const lockPathOf = (configPath: string): string => configPath.replace(/(\.ya?ml)?$/, '.lock.yaml')

const TOKEN_PRICES = {
  input: z.string(),
  cached_input: z.string().optional(),
  cache_write: z.string().optional(),
  output: z.string(),
}

/** What the provider offered and charged on the day of the pin, without any markup. */
const pinSchema = z.strictObject({
  context_tokens: z.int().positive(),
  /** The catalogue does not know that of every model. */
  max_output_tokens: z.int().positive().optional(),
  efforts: z.array(z.string()).optional(),
  price: z.strictObject({
    ...TOKEN_PRICES,
    tiers: z.array(z.strictObject({ above_input_tokens: z.int().positive(), ...TOKEN_PRICES })).optional(),
  }),
  /** The provider has announced another price from this day on. */
  price_until: z.iso.date().optional(),
})
const lockSchema = z.strictObject({ catalogue: z.string(), models: z.record(z.string(), pinSchema) })

type Pin = z.infer<typeof pinSchema>
/** By `dialect/model`. */
type Pins = ReadonlyMap<string, Pin>

/** What the imports of a configuration came to. */
export interface ImportReport {
  /** What `check --pin` writes. */
  readonly lock: string
  /** By the id of an imported model: the import that named it. */
  readonly origins: ReadonlyMap<string, string>
  /** Where the pins and the catalogue of this version differ. */
  readonly differences: readonly string[]
  /** Days from which on providers charge other prices than the pinned ones, with the models. */
  readonly priceEnds: ReadonlyMap<string, readonly string[]>
}

interface ImportSources {
  readonly readFile: FileReader
  /** Undefined for a configuration without a file. */
  readonly lockPath: string | undefined
  /** `catalogue`: as if everything were pinned now. */
  readonly pins: 'locked' | 'catalogue'
}

type Import = z.output<typeof importSchema> & { readonly item: LocatedItem }

/** Adds the imported models to the list of models. One that the list has is not imported. */
export function expandImports(
  { readFile, lockPath, pins: from }: ImportSources,
  tree: LocatedMap,
): { readonly report: ImportReport | undefined; readonly problems: readonly ConfigProblem[] } {
  const items = itemsAt(tree, 'imports')
  if (items.length === 0) return { report: undefined, problems: [] }
  const imports = items.flatMap((item): Import[] => {
    // checkShape reports the others.
    const read = importSchema.safeParse(plainOf(item.node))
    return read.success ? [{ ...read.data, item }] : []
  })
  const locked = from === 'catalogue' ? { pins: catalogueNow(), problems: [] } : readLock(readFile, lockPath)
  const problems: ConfigProblem[] = [...locked.problems]
  const models = childOf(tree, 'models')
  const listed = new Set(itemsAt(tree, 'models').map(({ node }) => idOf(node)))
  const origins = new Map<string, string>()
  const used = new Map<string, Pin>()
  const added: LocatedNode[] = []
  const priceEnds = new Map<string, string[]>()
  for (const each of imports) {
    const chosen = [...locked.pins].filter(([name, pin]) => isOffered(each, name, pin))
    if (chosen.length === 0 && locked.problems.length === 0) problems.push(nothingImported(each))
    for (const [name, pin] of chosen) {
      used.set(name, pin)
      const model = name.slice(name.indexOf('/') + 1)
      const id = `${each.prefix ?? ''}${model}`
      if (listed.has(id)) continue
      const other = origins.get(id)
      if (other !== undefined) problems.push(importedTwice(each, id, other))
      else added.push(treeOf(entryOf(each, id, model, pin), each.item.node.place))
      origins.set(id, each.from)
      const { price_until: end } = pin
      if (end !== undefined) priceEnds.set(end, [...(priceEnds.get(end) ?? []), name])
    }
  }
  if (added.length > 0 && (models === undefined || models.kind === 'list')) {
    const place = models?.place ?? added[0]!.place
    const all = [...(models?.kind === 'list' ? models.items : []), ...added]
    tree.entries.set('models', { keyPlace: place, node: { kind: 'list', place, items: all } })
  }
  const differences = from === 'catalogue' ? [] : differencesOf(imports, used)
  return { report: { lock: lockText(used), origins, differences, priceEnds }, problems }
}

const idOf = (node: LocatedNode): unknown => {
  const id = childOf(node, 'id')
  return id?.kind === 'scalar' ? id.value : undefined
}

function isNamed({ from, except }: Import, name: string): boolean {
  const model = name.slice(name.indexOf('/') + 1)
  return matchesGlob(from, name) && !except.some((pattern) => matchesGlob(pattern, model))
}

/** The hold of a request needs the longest output of its model. */
const isOffered = (wanted: Import, name: string, pin: Pin): boolean =>
  isNamed(wanted, name) && (pin.max_output_tokens ?? wanted.max_output_tokens) !== undefined

const problemAt = ({ item }: Import, message: string, cure: string, cause?: 'pin'): ConfigProblem => ({
  place: placeAt(item.node, ['from']),
  path: formatPath([...item.path, 'from']),
  message,
  cure,
  ...(cause && { cause }),
})

function nothingImported(wanted: Import): ConfigProblem {
  const known = [...catalogueNow()].filter(([name]) => isNamed(wanted, name))
  if (known.length > 0 && !known.some(([name, pin]) => isOffered(wanted, name, pin))) {
    const cure = 'Set max_output_tokens of the import, which applies to those.'
    return problemAt(wanted, 'the longest output of these models is not known', cure)
  }
  if (known.length > 0) {
    const cure = 'Pin what this version knows, then look at the file: millrace check --pin'
    return problemAt(wanted, 'the prices of these models are not pinned', cure, 'pin')
  }
  const dialect = wanted.from.slice(0, wanted.from.indexOf('/'))
  const { providers } = knownModels()
  const cure = providers.has(dialect)
    ? `See: millrace catalog --known ${dialect}`
    : `It begins with a dialect, as openai/*. Dialects: ${[...providers.keys()].join(', ')}.`
  return problemAt(wanted, 'matches no known model with a price', cure)
}

const importedTwice = (wanted: Import, id: string, other: string): ConfigProblem =>
  problemAt(wanted, `${id} is imported twice: first by ${other}`, 'Set prefix of one of the two, or name it in except.')

/** An entry of `models`, with the markup. */
function entryOf(wanted: Import, id: string, model: string, pin: Pin) {
  const { upstream, markup, kinds, input_tokens_max, owned_by, max_output_tokens: assumedOutput } = wanted
  const { price, context_tokens, efforts } = pin
  const max_output_tokens = Math.min(pin.max_output_tokens ?? assumedOutput ?? context_tokens, context_tokens)
  const { tiers = [], ...base } = price
  const more = Object.keys(input_tokens_max)
  return {
    ...{ id, context_tokens, max_output_tokens, kinds },
    ...(owned_by === undefined ? {} : { owned_by }),
    ...(efforts === undefined ? {} : { efforts }),
    ...(more.length === 0 ? {} : { inputs: ['text', ...more], input_tokens_max }),
    price: {
      ...withMarkup(base, markup),
      tiers: tiers.map(({ above_input_tokens, ...tier }) => ({ above_input_tokens, ...withMarkup(tier, markup) })),
    },
    lanes: [{ upstream, model }],
  }
}

type WrittenPrices = { readonly [Class in keyof typeof TOKEN_PRICES]?: string | undefined }

const PARTS = 1_000_000n

/** Exact, and rounded up once to a millionth of a dollar per million tokens: a sale never loses by rounding. */
const withMarkup = (prices: WrittenPrices, markup: bigint): WrittenPrices =>
  Object.fromEntries(
    Object.entries(prices).map(([name, written]) => {
      const price = parsePricePerMillion(written ?? '')
      // The check of the expanded model reports a text that is no price.
      if (price === undefined) return [name, written]
      return [name, formatPricePerMillion(((price * markup + PARTS - 1n) / PARTS) as PicoPerToken)]
    }),
  )

/** The models of this version's catalogue that can be sold: their price and their context are known. */
function catalogueNow(): Pins {
  const pins = new Map<string, Pin>()
  for (const [dialect, { models }] of knownModels().providers)
    for (const known of new Set(models.values())) {
      const pin = pinOf(known)
      if (pin !== undefined) pins.set(`${dialect}/${known.id}`, pin)
    }
  return pins
}

function pinOf({ contextTokens, maxOutputTokens, price, priceUntil, traits }: KnownModel): Pin | undefined {
  if (contextTokens === undefined || price === undefined) return undefined
  const tiers = price.tiers.map(({ aboveInputTokens, ...tier }) => ({
    above_input_tokens: aboveInputTokens,
    ...writtenPrices(tier),
  }))
  return {
    context_tokens: contextTokens,
    ...(maxOutputTokens === undefined ? {} : { max_output_tokens: maxOutputTokens }),
    ...(traits.efforts === undefined ? {} : { efforts: knownEfforts(traits.efforts) }),
    price: { ...writtenPrices(price), ...(tiers.length === 0 ? {} : { tiers }) },
    ...(priceUntil === undefined ? {} : { price_until: priceUntil }),
  }
}

const writtenPrices = ({ input, cachedInput, cacheWrite, output }: KnownTokenPrices) => ({
  input: formatPricePerMillion(input),
  ...(cachedInput === undefined ? {} : { cached_input: formatPricePerMillion(cachedInput) }),
  ...(cacheWrite === undefined ? {} : { cache_write: formatPricePerMillion(cacheWrite) }),
  output: formatPricePerMillion(output),
})

/** JSON in each line, which is YAML too, so that a change of one model is a change of one line. */
function lockText(pins: Pins): string {
  const lines = [...pins]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, pin]) => `  ${JSON.stringify(name)}: ${JSON.stringify(pin)}\n`)
  const { asOf } = knownModels()
  return [
    '# What providers offered and charged, in USD per million tokens, when the imports of the configuration were pinned.\n',
    '# The server uses these values until they are pinned again: millrace check --pin\n',
    `catalogue: ${JSON.stringify(asOf)}\nmodels:${lines.length === 0 ? ' {}' : ''}\n`,
    ...lines,
  ].join('')
}

function readLock(readFile: FileReader, path: string | undefined): { pins: Pins; problems: readonly ConfigProblem[] } {
  const file = path === undefined ? { kind: 'missing' as const } : readFile(path)
  if (file.kind === 'missing') return { pins: new Map(), problems: [] }
  const place = { origin: path! }
  const cure = 'Write it again: millrace check --pin'
  const refuse = (message: string) => ({ place, path: '', message, cure, cause: 'pin' as const })
  if (file.kind === 'unreadable')
    return { pins: new Map(), problems: [refuse(`this file cannot be read: ${file.reason}`)] }
  const parsed = parseYaml(file.text, path!)
  const read = lockSchema.safeParse(plainOf(parsed.tree))
  if (parsed.problems.length === 0 && read.success)
    return { pins: new Map(Object.entries(read.data.models)), problems: [] }
  const issues = read.success ? [] : read.error.issues
  const located = issues.map(({ path: at, message }) => {
    const steps = at.filter((step) => typeof step !== 'symbol')
    return { ...refuse(message), place: placeAt(parsed.tree, steps), path: formatPath(steps) }
  })
  return { pins: new Map(), problems: [...parsed.problems, ...located] }
}

/** How the catalogue of this version differs from the pins in force. */
function differencesOf(imports: readonly Import[], used: Pins): string[] {
  const now = catalogueNow()
  const names = (list: readonly string[]) => list.join(', ')
  const count = (list: readonly string[]) => (list.length === 1 ? '1 model' : `${list.length} models`)
  const differs = (name: string, part: (pin: Pin) => unknown): boolean => {
    const [pinned, current] = [used.get(name)!, now.get(name)]
    return current !== undefined && JSON.stringify(part(pinned)) !== JSON.stringify(part(current))
  }
  const pinned = [...used.keys()]
  const prices = pinned.filter((name) => differs(name, ({ price }) => price))
  const sizes = pinned.filter((name) => differs(name, (pin) => ({ ...pin, price: undefined, price_until: undefined })))
  const ends = pinned.filter((name) => differs(name, (pin) => pin.price_until ?? null) && !prices.includes(name))
  const gone = pinned.filter((name) => !now.has(name) && knownModel(...splitName(name)) === undefined)
  const fresh = [...now]
    .filter(([name, pin]) => !used.has(name) && imports.some((each) => isOffered(each, name, pin)))
    .map(([name]) => name)
  return [
    ...(prices.length === 0 ? [] : [`${count(prices)} changed price: ${names(prices)}.`]),
    ...(ends.length === 0 ? [] : [`${count(ends)} changed the announced end of the price: ${names(ends)}.`]),
    ...(sizes.length === 0 ? [] : [`${count(sizes)} changed context, output limit or efforts: ${names(sizes)}.`]),
    ...(gone.length === 0 ? [] : [`${count(gone)} left the catalogue: ${names(gone)}.`]),
    ...(fresh.length === 0 ? [] : [`${count(fresh)} not served, because not pinned: ${names(fresh)}.`]),
  ]
}

const splitName = (name: string): [dialect: string, model: string] => [
  name.slice(0, name.indexOf('/')),
  name.slice(name.indexOf('/') + 1),
]
