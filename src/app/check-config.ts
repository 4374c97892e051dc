import { rename, writeFile } from 'node:fs/promises'
import { type CatalogView, catalogView } from '../admin/compare-catalog.ts'
import { termsView } from '../admin/models.ts'
import { type PlanView, planView } from '../admin/plans.ts'
import { loadCatalog, type ModelDefinition } from '../catalog/load-catalog.ts'
import { variantsOf } from '../catalog/resolve-model.ts'
import type { PinOutcome } from '../cli/cli-services.ts'
import { describeWindows } from '../cli/format.ts'
import { type ConfigOrigin, type ConfigSources, type LoadedConfig, loadConfig } from '../config/load-config.ts'
import { type ConfigProblem, formatProblem, shortestPath } from '../config/problem.ts'
import { formatPricePerMillion } from '../model/money.ts'
import type { PriceList } from '../model/price.ts'
import { examineConfig } from './doctor/examine-config.ts'

/** The output of `millrace check`, as text and as JSON. */
interface ConfigCheck {
  readonly ok: boolean
  /** There are warnings, which `--strict` refuses. */
  readonly warned: boolean
  readonly lines: readonly string[]
  readonly json: Readonly<Record<string, unknown>>
}

export function checkConfig(sources: ConfigSources, now: number): ConfigCheck {
  const outcome = loadConfig(sources)
  return outcome.kind === 'loaded' ? describeConfig(outcome, sources.cwd, now) : describeProblems(outcome, sources.cwd)
}

/** Writes the pins of the imports beside the configuration, and says what changes. */
export async function pinImports(sources: ConfigSources): Promise<PinOutcome> {
  const now = loadConfig(sources, { pins: 'catalogue' })
  if (now.kind === 'invalid') return { kind: 'invalid', lines: describeProblems(now, sources.cwd).lines }
  const { imports } = now
  if (imports?.lockPath === undefined) return { kind: 'nothing' }
  const before = loadConfig(sources)
  const changes = before.kind === 'loaded' ? (before.imports?.differences ?? []) : []
  const { lockPath: path, lock } = imports
  // A running server that watches the file never sees half of it.
  await writeFile(`${path}.new`, lock)
  await rename(`${path}.new`, path)
  return { kind: 'pinned', path: shortestPath(path, sources.cwd), models: imports.origins.size, changes }
}

function describeProblems(
  { problems, origin }: { problems: readonly ConfigProblem[]; origin: ConfigOrigin },
  cwd: string,
): ConfigCheck {
  const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`
  const where = origin.kind === 'file' ? shortestPath(origin.path, cwd) : 'flags and variables; there is no file'
  const lines = [...problems.flatMap((problem) => formatProblem(problem, cwd)), `${count} in ${where}.`]
  const json = problems.map(({ place: { origin: file, line = null, column = null }, ...problem }) => ({
    ...{ file, line, column, ...problem },
  }))
  return { ok: false, warned: false, lines, json: { ok: false, origin, problems: json } }
}

function describeConfig(loaded: LoadedConfig, cwd: string, now: number): ConfigCheck {
  const { config, origin } = loaded
  const { upstreams, models, storage } = config
  const catalog = loadCatalog({ upstreams, models, plans: config.plans }, () => 0)
  const plans = config.plans.map((plan) => planView(catalog, plan))
  const warnings = examineConfig(loaded, now)
  const notes = unknownModels(models, catalogView(catalog.models))
  const json = {
    ok: true,
    origin,
    data: storage.data,
    upstreams: upstreams.map(({ id, wire, dialect }) => ({ id, wire, dialect })),
    models: models.map(modelJson),
    plans,
    problems: [],
    // Warnings do not stop the start: prices are the operator's decision.
    warnings: warnings.map(({ message }) => message),
    notes,
  }
  const lines = [
    `${originName(origin, cwd)}: good`,
    `  data       ${storage.data}`,
    `  upstreams  ${upstreams.map(({ id, wire }) => `${id} (${wire})`).join(', ') || 'none: no model can be called'}`,
    `  models     ${models.length === 0 ? 'none: no model can be called' : models.length}`,
    ...models.map(modelLine),
    ...(plans.length === 0 ? [] : [`  plans      ${plans.length}`, ...plans.map(planLine)]),
    ...warnings.flatMap(({ message, cure }) => [`  warning: ${message}`, `           ${cure}`]),
    ...notes.map((note) => `  note: ${note}`),
  ]
  return { ok: true, warned: warnings.length > 0, lines, json }
}

/** The context of an unknown model cannot be compared. That is no fault of the configuration. */
function unknownModels(models: readonly ModelDefinition[], { lanes }: CatalogView): string[] {
  const known = new Set(lanes.filter((lane) => lane.known || lane.wire === 'demo').map(({ model }) => model))
  const unknown = models.filter(({ id }) => !known.has(id)).map(({ id }) => id)
  if (unknown.length === 0) return []
  const names = unknown.join(', ')
  return [`context_tokens of ${names} cannot be checked: the dialect of the upstream does not know the model.`]
}

const planLine = (plan: PlanView): string =>
  `    ${plan.id}  ${describeWindows(plan)}  opens ${plan.opens.join(', ') || 'no model: none of its models is for builder keys'}`

const originName = (origin: ConfigOrigin, cwd: string): string =>
  origin.kind === 'file' ? shortestPath(origin.path, cwd) : 'no file (defaults)'

const idsOf = ({ id, efforts }: ModelDefinition): string[] => [
  id,
  ...variantsOf(id, efforts).map((variant) => variant.id),
]

function modelLine(model: ModelDefinition): string {
  const { kinds, lanes, price, importedFrom } = model
  const names = lanes.map((lane) => `${lane.upstream}/${lane.model}`).join(', ')
  const cost = price === undefined ? 'no price: cannot be called' : `${costOf(price)} (USD per million tokens)`
  const origin = importedFrom === undefined ? '' : `  imported from ${importedFrom}`
  return `    ${idsOf(model).join(', ')}  ${kinds.join(' and ')}  on ${names}  ${cost}${origin}`
}

const costOf = ({ input, cacheWrite, output }: PriceList): string =>
  [
    `${formatPricePerMillion(input)} in`,
    ...(cacheWrite === input ? [] : [`${formatPricePerMillion(cacheWrite)} written to a cache`]),
    `${formatPricePerMillion(output)} out`,
  ].join(', ')

function modelJson(model: ModelDefinition) {
  const { id, efforts, kinds, lanes, price, contextTokens, maxOutputTokens, importedFrom } = model
  return {
    id,
    ids: idsOf(model),
    efforts: efforts ?? null,
    kinds,
    lanes: lanes.map(({ upstream, model, priority, weight }) => ({ upstream, model, priority, weight })),
    context_tokens: contextTokens,
    max_output_tokens: maxOutputTokens,
    price: price === undefined ? null : termsView(price),
    imported_from: importedFrom ?? null,
  }
}
