import { variantsOf } from '../../catalog/effort-suffix.ts'
import { loadCatalog, type ModelDefinition } from '../../catalog/load-catalog.ts'
import { admits } from '../../catalog/visible-models.ts'
import { formatPricePerMillion, formatUsd } from '../../model/money.ts'
import { type ConfigProblem, formatPath, formatPlace, formatProblem } from './config-problem.ts'
import { type ConfigOrigin, type ConfigSources, type LoadedConfig, loadConfig } from './load-config.ts'

/** What `millrace check` prints, in both of its forms. */
export interface ConfigCheck {
  readonly ok: boolean
  readonly lines: readonly string[]
  readonly json: Readonly<Record<string, unknown>>
}

/** A list of models that somebody carries besides the plans: a key, or the asker's own trial. */
export interface ModelList {
  readonly subject: string
  readonly models: readonly string[]
}

export function checkConfig(sources: ConfigSources, lists: readonly ModelList[] = []): ConfigCheck {
  const outcome = loadConfig(sources)
  return outcome.kind === 'loaded'
    ? describeConfig(outcome, lists, sources.cwd)
    : describeProblems(outcome, sources.cwd)
}

function describeProblems(
  { problems, origin }: { problems: readonly ConfigProblem[]; origin: ConfigOrigin },
  cwd: string,
): ConfigCheck {
  const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`
  const lines = [
    ...problems.flatMap((problem) => formatProblem(problem, cwd)),
    `${count} in ${originName(origin, cwd)}.`,
  ]
  return { ok: false, lines, json: { ok: false, origin, problems: problems.map(problemJson) } }
}

const problemJson = ({ place, path, message, cure }: ConfigProblem) => ({
  file: place.origin,
  line: place.line ?? null,
  column: place.column ?? null,
  path,
  message,
  cure,
})

interface Match {
  readonly subject: string
  readonly entry: string
  /** Ids that a caller could write. */
  readonly ids: readonly string[]
}

function describeConfig({ config, origin }: LoadedConfig, lists: readonly ModelList[], cwd: string): ConfigCheck {
  const { upstreams, models, storage } = config
  const plans = config.plans.map((plan, index) => ({ subject: formatPath(['plans', index]), models: plan.models }))
  const matches = matchesOf(config, [...plans, ...lists])
  const json = {
    ok: true,
    origin,
    data: storage.data,
    upstreams: upstreams.map(({ id, wire, dialect }) => ({ id, wire, dialect })),
    models: models.map(modelJson),
    matches,
    problems: [],
  }
  const lines = [
    `${originName(origin, cwd)}: good`,
    `  data       ${storage.data}`,
    `  upstreams  ${upstreams.map(({ id, wire }) => `${id} (${wire})`).join(', ') || 'none: nothing can be called'}`,
    `  models     ${models.length === 0 ? 'none: nothing can be called' : models.length}`,
    ...models.map(modelLine),
    ...matches.map(({ subject, entry, ids }) => `  ${subject}  ${entry}  matches ${ids.join(', ') || 'nothing'}`),
  ]
  return { ok: true, lines, json }
}

/** What each entry of each list admits, by the rules that a request meets. */
function matchesOf(config: LoadedConfig['config'], lists: readonly ModelList[]): Match[] {
  const entries = [...loadCatalog(config, () => 1).entries.values()]
  return lists.flatMap(({ subject, models }) =>
    models.map((listed) => {
      const admitted = entries.filter((entry) => admits(listed, entry))
      return { subject, entry: listed, ids: admitted.map((entry) => entry.id) }
    }),
  )
}

const originName = (origin: ConfigOrigin, cwd: string): string =>
  origin.kind === 'file'
    ? formatPlace({ origin: origin.path, line: 1 }, cwd).replace(/:1:.*$/, '')
    : 'no file (defaults)'

const idsOf = ({ id, efforts }: ModelDefinition): string[] => [
  id,
  ...variantsOf(id, efforts).map((variant) => variant.id),
]

function modelLine(model: ModelDefinition): string {
  const { kinds, lanes, price } = model
  const ways = lanes.map((lane) => `${lane.upstream}/${lane.model}`).join(', ')
  const cost =
    price === undefined
      ? 'no price: cannot be called'
      : `${formatPricePerMillion(price.input)} in, ${formatPricePerMillion(price.output)} out (USD per million tokens)`
  return `    ${idsOf(model).join(', ')}  ${kinds.join(' and ')}  on ${ways}  ${cost}`
}

function modelJson(model: ModelDefinition) {
  const { id, efforts, kinds, lanes, price, contextTokens, maxOutputTokens } = model
  return {
    id,
    ids: idsOf(model),
    efforts: efforts ?? null,
    kinds,
    lanes: lanes.map((lane) => ({
      upstream: lane.upstream,
      model: lane.model,
      priority: lane.priority,
      weight: lane.weight,
    })),
    context_tokens: contextTokens,
    max_output_tokens: maxOutputTokens,
    price: price === undefined ? null : priceJson(price),
  }
}

function priceJson(price: NonNullable<ModelDefinition['price']>) {
  const rates = (of: typeof price | (typeof price.tiers)[number]) => ({
    input: formatPricePerMillion(of.input),
    cached_input: formatPricePerMillion(of.cachedInput),
    cache_write: formatPricePerMillion(of.cacheWrite),
    output: formatPricePerMillion(of.output),
  })
  return {
    ...rates(price),
    per_request: formatUsd(price.perRequest),
    tiers: price.tiers.map((tier) => ({ above_input_tokens: tier.aboveInputTokens, ...rates(tier) })),
  }
}
